/** Newline-delimited JSON: every split of the bytes produces the same messages, and no input throws. */
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import * as Framing from "../../src/transport/Framing.ts"
import type { Inbound } from "../../src/transport/Transport.ts"

const encoder = new TextEncoder()
const bytes = (text: string) => encoder.encode(text)
const concat = (parts: ReadonlyArray<Uint8Array>) => Uint8Array.from(parts.flatMap((part) => [...part]))

const decodeAll = (chunks: Iterable<Uint8Array>, limit?: number) => {
  const decoder = new Framing.LineDecoder(limit)
  return Array.from(chunks).flatMap((chunk) => decoder.push(chunk))
}

/** Cuts `all` at the given fractions of its length. */
const split = (all: Uint8Array, cuts: ReadonlyArray<number>) => {
  const at = [0, ...cuts.map((cut) => Math.floor((cut / 1000) * all.length)), all.length].toSorted((a, b) => a - b)
  return at.slice(1).map((end, index) => all.slice(at[index], end))
}

const tags = (inbound: ReadonlyArray<Inbound>) => inbound.map(({ _tag }) => _tag)

const line = Arbitrary.schema(
  Schema.Union([
    Schema.Struct({
      jsonrpc: Schema.Literal("2.0"),
      id: Schema.Union([Schema.Int, Schema.String]),
      method: Schema.String,
      params: Schema.Struct({ text: Schema.String, astral: Schema.Literals(["😀", "é\u2028", "\u0000", "\ud800"]) })
    }),
    Schema.Array(Schema.Union([Schema.Int, Schema.Struct({ jsonrpc: Schema.Literal("2.0"), method: Schema.String })])),
    Schema.Json
  ])
)
const byte = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 255 }))
const cuts = Arbitrary.array(Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1000 }))), {
  maxLength: 12
})
const fast = { arbitrary: { runs: 300 } }

describe("Line decoder", () => {
  it.prop(
    "The same messages are read however the stream is split",
    { lines: Arbitrary.array(line, { maxLength: 8 }), cuts, crlf: Schema.Boolean },
    ({ lines, cuts, crlf }) => {
      const end = crlf ? "\r\n" : "\n"
      const all = bytes(lines.map((each) => JSON.stringify(each) + end).join(""))
      const expected = lines.map((each) => Framing.decode(JSON.stringify(each)))
      assert.deepStrictEqual(decodeAll([all]), expected)
      assert.deepStrictEqual(decodeAll(split(all, cuts)), expected)
      assert.deepStrictEqual(decodeAll(split(all, cuts).map((chunk) => chunk.slice())), expected)
    },
    { ...verifies("stdio.framing.newline", "transport.encoding.utf-8"), ...fast }
  )

  it("Long lines on several connections are read concurrently", () => {
    const connections = ["a", "é", "😀"].map((letter) => {
      const message = { jsonrpc: "2.0", method: letter.repeat(60_000) }
      const all = bytes(`${JSON.stringify(message)}\n`)
      const decoder = new Framing.LineDecoder()
      const read: Array<Inbound> = []
      return { all, decoder, expected: Framing.decode(JSON.stringify(message)), read }
    })
    // The shorter ones end while the others are half read, twice in a row.
    for (let round = 0; round < 2; round++) {
      for (let at = 0; at < 300_000; at += 5000) {
        for (const { all, decoder, read } of connections) read.push(...decoder.push(all.slice(at, at + 5000)))
      }
    }
    for (const { expected, read } of connections) assert.deepStrictEqual(read, [expected, expected])
  })

  it.prop(
    "The same messages are read for any limit and split, including oversized lines",
    {
      lines: Arbitrary.array(line, { maxLength: 6 }),
      cuts,
      limit: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 120 }))
    },
    ({ lines, cuts, limit }) => {
      const texts = lines.map((each) => JSON.stringify(each))
      const all = bytes(texts.map((text) => `${text}\n`).join(""))
      const expected = texts.map((text) => (bytes(text).length > limit ? "InvalidMessage" : Framing.decode(text)._tag))
      const read = decodeAll(split(all, cuts), limit)
      assert.deepStrictEqual(tags(read), expected)
      assert.deepStrictEqual(decodeAll([all], limit), read)
    },
    fast
  )

  it.prop(
    "Random bytes never throw, and the next line is read",
    { junk: Arbitrary.array(Arbitrary.schema(byte), { maxLength: 200 }), cuts, limit: Schema.Literals([8, 40, 1000]) },
    ({ junk, cuts, limit }) => {
      const ping = `{"jsonrpc":"2.0","method":"x"}`
      const all = concat([Uint8Array.from(junk), bytes(`\n${ping}\n`)])
      const read = decodeAll(split(all, cuts), limit)
      assert.deepStrictEqual(read.at(-1), limit < ping.length ? read.at(-1) : Framing.decode(ping))
      assert.notStrictEqual(read.length, 0)
    },
    fast
  )

  const scraps = [
    "{",
    "}",
    "[",
    "]",
    '"',
    "\\",
    ",",
    ":",
    "\n",
    "\r",
    " ",
    "-",
    "0",
    "1",
    "e",
    "\t",
    "id",
    '"id"',
    '"id":',
    '"method":',
    '"result":',
    '"jsonrpc":"2.0"',
    "null",
    "\\x",
    "é"
  ]
  it.prop(
    "Invalid JSON-RPC never throws, within or over the limit",
    { parts: Arbitrary.array(Arbitrary.schema(Schema.Literals(scraps)), { maxLength: 60 }), cuts },
    ({ parts, cuts }) => {
      const all = bytes(`{${parts.join("")}}\n`)
      assert.deepStrictEqual(decodeAll(split(all, cuts), 20), decodeAll([all], 20))
      decodeAll(split(all, cuts))
    },
    { arbitrary: { runs: 1000 } }
  )

  for (const id of ['"\\x"', "007", "-01", '"a\tb"', "99999999999999999999"]) {
    it(`An oversized line with the id ${JSON.stringify(id)} does not break the decoder`, () => {
      const [read] = decodeAll(
        [bytes(`{"jsonrpc":"2.0","id":${id},"method":"x","params":{"pad":"${"x".repeat(99)}"}}\n`)],
        60
      )
      assert.deepInclude(read, { _tag: "InvalidMessage", id: undefined, response: false })
    })
  }

  it("An id inside a string is not read as the message's id", () => {
    const pad = "x".repeat(99)
    const spelled = { jsonrpc: "2.0", method: 'm","id":5,"', params: { pad, last: ',"id":6}' } }
    const [read] = decodeAll([bytes(`${JSON.stringify(spelled)}\n`)], 60)
    assert.deepInclude(read, { id: undefined })
    const [nested] = decodeAll(
      [bytes(`${JSON.stringify({ jsonrpc: "2.0", method: "m", params: { pad, id: 7 } })}\n`)],
      60
    )
    assert.deepInclude(nested, { id: undefined })
  })

  it("Blank lines are skipped and CRLF is accepted", () => {
    const read = decodeAll([bytes(`\n\r\n  \n{"jsonrpc":"2.0","method":"a"}\r\n\n`)])
    assert.deepStrictEqual(tags(read), ["Message"])
  })

  it("An unterminated line is buffered and produces no message", () => {
    const decoder = new Framing.LineDecoder()
    assert.deepStrictEqual(decoder.push(bytes(`{"jsonrpc":"2.0",`)), [])
    assert.deepStrictEqual(decoder.push(new Uint8Array(0)), [])
    assert.deepStrictEqual(tags(decoder.push(bytes(`"method":"a"}\n{"json`))), ["Message"])
  })

  it("A line that is not UTF-8 is rejected, and the next line is read", () => {
    const read = decodeAll([concat([Uint8Array.of(0xc3, 0x28, 10), bytes(`{"jsonrpc":"2.0","method":"é"}\n`)])])
    assert.deepStrictEqual(tags(read), ["InvalidMessage", "Message"])
    assert.deepInclude(read[0], { id: undefined, response: false })
    assert.strictEqual(read[0]?._tag === "InvalidMessage" ? read[0].error.code : 0, -32700)
  })

  it("A character arriving byte by byte is read", () => {
    const all = bytes(`{"jsonrpc":"2.0","method":"😀é"}\n`)
    const read = decodeAll(Array.from(all, (value) => Uint8Array.of(value)))
    assert.deepStrictEqual(read, [Framing.decode(`{"jsonrpc":"2.0","method":"😀é"}`)])
  })

  it("A line at the limit is accepted, and one more byte is rejected", () => {
    const text = `{"jsonrpc":"2.0","method":"a"}`
    assert.deepStrictEqual(tags(decodeAll([bytes(`${text}\n`)], text.length)), ["Message"])
    assert.deepStrictEqual(tags(decodeAll([bytes(`${text}\n`)], text.length - 1)), ["InvalidMessage"])
  })

  it("Drops a line over the size limit and reads the next one", () => {
    const decoder = new Framing.LineDecoder(1000)
    const chunk = new Uint8Array(64 * 1024).fill(120)
    for (let n = 0; n < 10; n++) assert.deepStrictEqual(decoder.push(chunk), [])
    assert.deepStrictEqual(tags(decoder.push(bytes(`\n{"jsonrpc":"2.0","method":"a"}\n`))), [
      "InvalidMessage",
      "Message"
    ])
  })

  it("A message with a field named _tag is read as a message", () => {
    const text = `{"jsonrpc":"2.0","method":"a","_tag":"Invalid"}`
    assert.strictEqual(Framing.decode(text)._tag, "Message")
  })
})
