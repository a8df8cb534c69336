/**
 * Server-sent events as a client reads them: any split of the bytes produces the same messages and the same position to resume from.
 */
import * as Body from "../../../src/transport/http/Body.ts"
import * as ExchangeFailure from "../../../src/transport/http/ExchangeFailure.ts"
import type { Decoded } from "@effect-mcp/core/Transport"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as Arbitrary from "effect/Arbitrary"
import { HttpClientError, HttpClientRequest, HttpClientResponse } from "effect/http"

const encoder = new TextEncoder()
const byte = (maximum: number) => Schema.Int.check(Schema.isBetween({ minimum: 0, maximum }))

const Event = Schema.Struct({
  id: Schema.optionalKey(Schema.Literals(["1", "a/2", "é"])),
  name: Schema.optionalKey(Schema.Literals(["message", "other"])),
  retry: Schema.optionalKey(byte(5000)),
  comment: Schema.Boolean,
  data: Schema.Union([Schema.Literal(""), Schema.Struct({ text: Schema.String })])
})
const newline = Schema.Literals(["\n", "\r\n", "\r"])
const cuts = Arbitrary.array(Arbitrary.schema(byte(1000)), { maxLength: 12 })

/** Cuts `all` at the given fractions of its length. */
const split = (all: Uint8Array, places: ReadonlyArray<number>) => {
  const at = [0, ...places.map((cut) => Math.floor((cut / 1000) * all.length)), all.length].toSorted((a, b) => a - b)
  return at.slice(1).map((end, index) => all.slice(at[index], end))
}

const responseOf = (chunks: ReadonlyArray<Uint8Array>) =>
  HttpClientResponse.fromWeb(
    HttpClientRequest.get("http://localhost/"),
    new Response(
      new ReadableStream({
        start: (controller) => {
          for (const chunk of chunks) if (chunk.length > 0) controller.enqueue(chunk)
          controller.close()
        }
      })
    )
  )

const read = Effect.fnUntraced(function* (chunks: ReadonlyArray<Uint8Array>, limit = 1_000_000) {
  const position = Body.start()
  const messages: Array<Decoded> = []
  yield* Body.events(responseOf(chunks), limit, position, (message) => Effect.sync(() => void messages.push(message)))
  return { position, messages }
})

const messageOf = (data: object) => ({ jsonrpc: "2.0", method: "m", params: data })

describe("SSE events", () => {
  it.effect.prop(
    "An event is parsed the same with any chunking and any line ending",
    { events: Arbitrary.array(Arbitrary.schema(Event), { maxLength: 6 }), newline, cuts, cut: Schema.Boolean },
    ({ cut, cuts, events, newline }) =>
      Effect.gen(function* () {
        const lines = events.flatMap(({ comment, data, id, name, retry }) => [
          ...(comment ? [": still here"] : []),
          ...(id === undefined ? [] : [`id: ${id}`]),
          ...(name === undefined ? [] : [`event:${name}`]),
          ...(retry === undefined ? [] : [`retry: ${retry}`]),
          `data: ${data === "" ? "" : JSON.stringify(messageOf(data))}`,
          ""
        ])
        // An event that is cut off is dropped and does not move the position.
        const rest = cut ? ["id: lost", "data: {}"] : []
        const bytes = encoder.encode([...lines, ...rest].map((line) => line + newline).join(""))
        const { messages, position } = yield* read(split(bytes, cuts))
        assert.deepStrictEqual(
          messages.map((decoded) => (decoded._tag === "Message" ? decoded.message : undefined)),
          events.flatMap(({ data, name }) => (data !== "" && name !== "other" ? [messageOf(data)] : [])) as Array<any>
        )
        assert.strictEqual(position.lastEventId, events.findLast(({ id }) => id !== undefined)?.id)
        assert.strictEqual(position.retry, events.findLast(({ retry }) => retry !== undefined)?.retry)
      })
  )

  it.effect.prop(
    "A stream of arbitrary bytes is read without a defect",
    { bytes: Arbitrary.array(Arbitrary.schema(byte(255)), { maxLength: 200 }), cuts },
    ({ bytes, cuts }) => Effect.asVoid(read(split(Uint8Array.from(bytes), cuts)))
  )

  it.effect("An event over the limit is an overflow, whether or not it ends", () =>
    Effect.gen(function* () {
      for (const text of [`data: ${"x".repeat(200)}\n\n`, "x".repeat(200), `data: ${"x".repeat(60)}\n`.repeat(3)]) {
        const error = yield* Effect.flip(read([encoder.encode(text)], 100))
        assert.strictEqual(error.reason, "Overflow")
      }
      // There may be any number of them one after the other.
      const { messages } = yield* read([encoder.encode(`data: ${"x".repeat(60)}\n\n`.repeat(10))], 100)
      assert.lengthOf(messages, 10)
    })
  )

  it.effect("An event with an empty id clears the stream position", () =>
    Effect.gen(function* () {
      const { position } = yield* read([encoder.encode("id: 1\ndata: \n\nid\ndata: \n\n")])
      assert.isUndefined(position.lastEventId)
    })
  )
})

describe("Requests that were never sent", () => {
  const refusalOf = (cause: unknown) =>
    ExchangeFailure.unreachable(
      new HttpClientError.HttpClientError({
        reason: new HttpClientError.TransportError({ request: HttpClientRequest.get("http://a.example/"), cause })
      }),
      new URL("http://a.example/mcp")
    )
  const caused = (fields: object) => new TypeError("fetch failed", { cause: Object.assign(new Error("why"), fields) })

  for (const fields of [
    { code: "ECONNREFUSED" },
    { code: "ENOTFOUND", syscall: "getaddrinfo" },
    { code: "EHOSTUNREACH", syscall: "connect" },
    { code: "UND_ERR_CONNECT_TIMEOUT" },
    { code: "CERT_HAS_EXPIRED" },
    { code: "DEPTH_ZERO_SELF_SIGNED_CERT" },
    { code: "ERR_TLS_CERT_ALTNAME_INVALID" },
    { code: "ConnectionRefused" }
  ]) {
    it(`An unsent request is distinguished from one that may have arrived: ${JSON.stringify(fields)}`, () => {
      const { error, unsent } = refusalOf(caused(fields))
      assert.isTrue(unsent)
      assert.strictEqual(error.reason, "Open")
      assert.strictEqual(error.message, "Cannot reach http://a.example: why")
    })
  }

  for (const fields of [{ code: "ECONNRESET" }, { code: "EPIPE", syscall: "write" }, { code: "UND_ERR_SOCKET" }, {}]) {
    it(`A request on a broken connection may have arrived: ${JSON.stringify(fields)}`, () => {
      const { error, unsent } = refusalOf(caused(fields))
      assert.isFalse(unsent)
      assert.strictEqual(error.reason, "Read")
    })
  }

  it("An unsent request is detected however deep its cause, even in a cycle", () => {
    const circular: unknown = undefined
    const circle = Object.assign(new Error("a"), { cause: circular })
    circle.cause = circle
    assert.isFalse(refusalOf(circle).unsent)
    assert.isTrue(refusalOf(new Error("a", { cause: caused({ code: "ECONNREFUSED" }) })).unsent)
    assert.isFalse(refusalOf("a string").unsent)
  })

  // Node's failure for a name such as `localhost`: an aggregate error without a message, with the code of the first.
  const tried = (...fields: ReadonlyArray<object>) => {
    const errors = fields.map((each, index) => Object.assign(new Error(`connect to address ${index}`), each))
    return Object.assign(new AggregateError(errors), { code: "code" in errors[0]! ? errors[0].code : undefined })
  }

  it("A server unreachable at every address is reported with the first reason", () => {
    for (const code of ["ECONNREFUSED", "ETIMEDOUT", "ENETUNREACH"]) {
      const all = tried({ code, syscall: "connect" }, { code: "EACCES", syscall: "connect" })
      for (const cause of [all, new TypeError("fetch failed", { cause: all })]) {
        const { error, unsent } = refusalOf(cause)
        assert.strictEqual(error.message, "Cannot reach http://a.example: connect to address 0")
        assert.isTrue(unsent)
      }
    }
    assert.isFalse(refusalOf(tried({ code: "ETIMEDOUT", syscall: "connect" }, { code: "ECONNRESET" })).unsent)
    assert.isNotEmpty(refusalOf(new AggregateError([])).error.message)
  })
})
