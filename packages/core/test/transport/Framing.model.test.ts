/**
 * The line decoder compared with a plain splitter: chunks and lines of every size around its limits, with any bytes.
 */
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import * as Framing from "../../src/transport/Framing.ts"
import type { Decoded } from "../../src/transport/Transport.ts"

const newline = Uint8Array.of(10)
const bom = Uint8Array.of(0xef, 0xbb, 0xbf)
const bytes = (text: string) => new TextEncoder().encode(text)
const concat = (...parts: ReadonlyArray<Uint8Array>): Uint8Array => {
  const all = new Uint8Array(parts.reduce((size, part) => size + part.length, 0))
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}

/** A line, and the facts that are known if it is too long to be read. */
interface Line {
  readonly bytes: Uint8Array
  readonly id?: string | number | undefined
  readonly response?: boolean
}

const strict = () => new TextDecoder("utf-8", { fatal: true })

/** Reads a line with the simplest possible code. */
const read = ({ bytes, id, response = false }: Line, limit: number): ReadonlyArray<Decoded> => {
  const refused = (error: object): Decoded =>
    ({ _tag: "InvalidMessage", error: { _tag: "McpError", ...error }, id: undefined, response: false }) as never
  if (bytes.length > limit) {
    return [
      {
        ...refused({ code: -32600, message: `The message is larger than ${limit} bytes (maxMessageBytes)` }),
        id,
        response
      } as Decoded
    ]
  }
  let text: string
  try {
    text = strict().decode(bytes)
  } catch {
    return [refused({ code: -32700, message: "Parse error: not valid UTF-8" })]
  }
  return text.trim() === "" ? [] : [Framing.decode(text)]
}

/** Errors are compared by their messages. */
const plain = (decoded: Decoded): unknown =>
  decoded._tag === "InvalidMessage"
    ? { ...decoded, error: { _tag: "McpError", code: decoded.error.code, message: decoded.error.message } }
    : decoded

/** Cuts the bytes into chunks of these sizes, repeatedly. */
const chunked = (all: Uint8Array, sizes: ReadonlyArray<number>): ReadonlyArray<Uint8Array> => {
  const chunks: Array<Uint8Array> = []
  for (let at = 0, turn = 0; at < all.length; turn++) {
    const size = sizes[turn % sizes.length] ?? 1
    chunks.push(all.slice(at, at + size))
    at += size
  }
  return chunks
}

/** The lines that the decoder reads, and the expected ones. */
const both = (lines: ReadonlyArray<Line>, sizes: ReadonlyArray<number>, limit: number, crlf = false) => {
  const end = crlf ? Uint8Array.of(13, 10) : newline
  const all = concat(...lines.flatMap((line) => [line.bytes, end]))
  const decoder = new Framing.LineDecoder(limit)
  const said: Array<Decoded> = []
  let held = 0
  for (const chunk of chunked(all, sizes)) {
    said.push(...decoder.push(chunk))
    held = Math.max(held, decoder.held)
  }
  assert.isAtMost(held, Math.max(limit, 1024))
  const expected = lines.flatMap((line) =>
    read(crlf ? { ...line, bytes: concat(line.bytes, Uint8Array.of(13)) } : line, limit)
  )
  assert.strictEqual(decoder.held, 0)
  return [said.map(plain), expected.map(plain)] as const
}

/** Makes a line of that many bytes, or the minimum. */
const sized = (before: string, after: string, size: number, filler: string): Uint8Array => {
  const unit = bytes(filler).length
  const room = Math.max(0, size - before.length - after.length)
  return bytes(before + filler.repeat(Math.floor(room / unit)) + "x".repeat(room % unit) + after)
}
const shapes = {
  "a request": (size: number, filler: string): Line => ({
    id: 7,
    bytes: sized(`{"jsonrpc":"2.0","id":7,"method":"m","params":{"pad":"`, `"}}`, size, filler)
  }),
  "a request whose id comes last": (size: number, filler: string): Line => ({
    id: "last",
    bytes: sized(`{"method":"m","params":{"pad":"`, `"},"jsonrpc":"2.0","id":"last"}`, size, filler)
  }),
  "a result": (size: number, filler: string): Line => ({
    id: 7,
    response: true,
    bytes: sized(`{"jsonrpc":"2.0","id":7,"result":{"pad":"`, `"}}`, size, filler)
  }),
  "a notification": (size: number, filler: string): Line => ({
    bytes: sized(`{"jsonrpc":"2.0","method":"m","params":{"pad":"`, `"}}`, size, filler)
  }),
  "a byte order mark before": (size: number, filler: string): Line => ({
    bytes: concat(bom, sized(`{"jsonrpc":"2.0","method":"m","params":{"pad":"`, `"}}`, size - 3, filler))
  }),
  "a byte order mark within": (size: number, filler: string): Line => ({
    bytes: sized(`{"jsonrpc":"2.0","method":"m","params":{"pad":"\uFEFF`, `"}}`, size - 2, filler)
  }),
  "no UTF-8 within a string": (size: number): Line => ({
    bytes: concat(bytes(`{"jsonrpc":"2.0","method":"`), new Uint8Array(Math.max(1, size - 29)).fill(0xff), bytes(`"}`))
  }),
  "half a character": (size: number): Line => ({
    bytes: concat(sized(`{"jsonrpc":"2.0","method":"`, "", size - 4, "x"), Uint8Array.of(0xc3), bytes(`"}`))
  }),
  blank: (size: number): Line => ({ bytes: bytes(" ".repeat(Math.min(size, 9))) }),
  "the character that stands for broken ones": (size: number): Line => ({
    bytes: sized(`{"jsonrpc":"2.0","method":"m","params":{"pad":"`, `\uFFFD"}}`, size - 2, "x")
  })
}

const near = (...edges: ReadonlyArray<number>) => edges.flatMap((edge) => [edge - 1, edge, edge + 1])
const Shape = Schema.Literals(Object.keys(shapes) as Array<keyof typeof shapes>)
const Size = Schema.Literals([0, 100, ...near(512, 1024, 4096, 8192, 65_536)])
const Spec = Schema.Struct({ shape: Shape, size: Size, filler: Schema.Literals(["x", "é", "€", "😀", "\u2028"]) })
const Chunk = Schema.Literals([1, 7, 100, ...near(4096, 8192), 65_536])

describe("Line decoder model", () => {
  it.prop(
    "The line decoder matches a plain splitter for any chunk and line sizes",
    {
      specs: Arbitrary.array(Arbitrary.schema(Spec), { minLength: 1, maxLength: 6 }),
      sizes: Arbitrary.array(Arbitrary.schema(Chunk), { minLength: 1, maxLength: 5 }),
      limit: Schema.Literals([100, ...near(512, 4096, 8192), 65_536]),
      crlf: Schema.Boolean
    },
    ({ crlf, limit, sizes, specs }) =>
      assert.deepStrictEqual(
        ...both(
          specs.map(({ filler, shape, size }) => shapes[shape](size, filler)),
          // A byte at a time only if the lines are short.
          specs.some(({ size }) => size > 10_000) ? [...sizes, 8192] : sizes,
          limit,
          crlf
        )
      ),
    { ...verifies("stdio.framing.newline", "transport.encoding.utf-8"), arbitrary: { runs: 150 } }
  )

  it.each(Object.keys(shapes) as Array<keyof typeof shapes>)(
    "The line decoder reads lines around 4 MiB, with the default and a larger limit: %s",
    verifies("stdio.framing.newline", "transport.encoding.utf-8"),
    (shape) => {
      for (const size of near(Framing.defaultMaxMessageBytes)) {
        const lines = [shapes[shape](size, "x"), shapes.blank(3), shapes[shape](200, "x"), shapes[shape](size, "é")]
        assert.deepStrictEqual(...both(lines, [100, 65_536, 65_536, 1_000_000], Framing.defaultMaxMessageBytes))
        assert.deepStrictEqual(...both(lines, [65_536, 7, 1_000_000], 2 * Framing.defaultMaxMessageBytes))
        assert.deepStrictEqual(...both(lines, [Infinity], Framing.defaultMaxMessageBytes + 1))
      }
    }
  )

  it("The line decoder keeps a small chunk that a large one follows", () => {
    assert.deepStrictEqual(...both([shapes["a request"](9000, "x")], [100, 8900], 10_000))
  })

  it("The line decoder reads a batch with the maximum number of members and rejects one more", () => {
    const batch = (size: number): Line => ({ bytes: bytes(`[${Array.from({ length: size }, () => "7").join()}]`) })
    const decoded = (size: number) => {
      const [one] = new Framing.LineDecoder().push(concat(batch(size).bytes, newline))
      return one?._tag === "Batch" ? one.members.length : one?._tag
    }
    assert.strictEqual(decoded(Framing.maxBatchMembers), Framing.maxBatchMembers)
    assert.strictEqual(decoded(Framing.maxBatchMembers + 1), "InvalidMessage")
  })

  it("A line of JSON with an invalid byte in a string is rejected", verifies("transport.encoding.utf-8"), () => {
    const bad = concat(bytes(`{"jsonrpc":"2.0","method":"`), Uint8Array.of(0xff), bytes(`"}`))
    const good = bytes(`{"jsonrpc":"2.0","method":"fine"}`)
    for (const sizes of [[1], [Infinity], [20]]) {
      assert.deepStrictEqual(...both([{ bytes: bad }, { bytes: good }, { bytes: bad }], sizes, 1000))
    }
    const [refused] = new Framing.LineDecoder().push(concat(bad, newline))
    assert.strictEqual(refused?._tag === "InvalidMessage" && refused.error.code, -32700)
  })
})
