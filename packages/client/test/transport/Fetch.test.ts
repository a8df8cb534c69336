/** A client that sends its requests through a function in place of the platform's `fetch`. */
import * as Fetch from "@effect-mcp/client/Fetch"
import * as McpClient from "@effect-mcp/client/McpClient"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Stream } from "effect"
import * as FetchSender from "../../src/transport/http/FetchSender.ts"
import * as Body from "../../src/transport/http/Body.ts"
import * as Fake from "../support/fake.ts"
import { discovered } from "./http/support/finding.ts"

const url = "https://mcp.example.com/mcp"
const request = { method: "GET", url: new URL(url), headers: {} } as const

/** A body that never ends, and whether it was closed. */
const endless = () => {
  const closed = Deferred.makeUnsafe<void>()
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new TextEncoder().encode("{")),
    cancel: () => void Deferred.doneUnsafe(closed, Effect.void)
  })
  return { body, closed: Deferred.await(closed) }
}

describe("Clients over fetch", () => {
  it.effect("layerFetch calls a tool through the given function", () =>
    Effect.gen(function* () {
      const posted: Array<Headers> = []
      const client = McpClient.layerFetch({
        url,
        headers: { Authorization: "Bearer secret" },
        listsTools: false,
        fetch: async (input, init) => {
          const request = new Request(input, init)
          posted.push(request.headers)
          const message = await request.json()
          return Fake.result(
            message,
            message.method === "server/discover"
              ? { ...discovered, capabilities: { tools: {} } }
              : { resultType: "complete", content: [{ type: "text", text: "fine" }] }
          )
        }
      })
      const call = Effect.flatMap(McpClient.McpClient, ({ callToolByName }) => callToolByName("a", {}))
      assert.deepInclude(yield* Effect.provide(call, client), { content: [{ type: "text", text: "fine" }] })
      assert.deepStrictEqual(
        posted.map((headers) => headers.get("authorization")),
        ["Bearer secret", "Bearer secret"]
      )
    })
  )

  it.effect("A redirect hidden by the platform is reported in the connection error", () =>
    Effect.gen(function* () {
      const hidden = async () => Object.defineProperty(new Response(null), "status", { value: 0 })
      const open = McpClient.open(Fetch.open({ url, fetch: hidden, transport: "streamable" }), { reconnect: false })
      assert.include((yield* Effect.flip(Effect.scoped(open))).message, "redirects")
    })
  )

  it.effect("A header without a value is not sent, and trace headers are sent on request", () =>
    Effect.gen(function* () {
      for (const traceHeaders of [true, false]) {
        const sent = Deferred.makeUnsafe<Headers>()
        const transport = yield* Fetch.open({
          url,
          traceHeaders,
          headers: { "x-none": undefined },
          fetch: async (_, init) => {
            Deferred.doneUnsafe(sent, Effect.succeed(new Headers(init.headers)))
            return Fake.json({}, 400)
          }
        })
        const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        transport.sink.send({ jsonrpc: "2.0", id: 1, method: "ping", params: { _meta: { traceparent } } }, "data")
        const headers = yield* Deferred.await(sent)
        assert.isFalse(headers.has("x-none"))
        assert.strictEqual(headers.has("traceparent"), traceHeaders)
      }
    }).pipe(Effect.scoped)
  )
})

describe("Requests over fetch", () => {
  it.effect("Interrupting a request or reading its body aborts it", () =>
    Effect.gen(function* () {
      for (const read of [false, true]) {
        let signal: AbortSignal | null | undefined
        const begun = Deferred.makeUnsafe<void>()
        const response = Object.assign(new Response("{}"), {
          arrayBuffer: () => {
            Deferred.doneUnsafe(begun, Effect.void)
            return new Promise<ArrayBuffer>(() => undefined)
          }
        })
        const send = FetchSender.make((_, init) => {
          signal = init?.signal
          if (!read) Deferred.doneUnsafe(begun, Effect.void)
          return read ? Promise.resolve(response) : new Promise(() => undefined)
        })
        const reading = Effect.flatMap(send(request), ({ arrayBuffer }) => arrayBuffer)
        const fiber = yield* Effect.forkChild(reading, { startImmediately: true })
        yield* Deferred.await(begun)
        assert.isFalse(signal?.aborted)
        yield* Fiber.interrupt(fiber)
        assert.isTrue(signal?.aborted)
      }
    })
  )

  it.effect("A response that arrives after its request was interrupted is closed", () =>
    Effect.gen(function* () {
      const answered = Promise.withResolvers<Response>()
      const { body, closed } = endless()
      const fiber = yield* Effect.forkChild(FetchSender.make(() => answered.promise)(request), {
        startImmediately: true
      })
      yield* Fiber.interrupt(fiber)
      answered.resolve(new Response(body))
      yield* closed
    })
  )

  it.effect("A body that is skipped or read in part is closed", () =>
    Effect.gen(function* () {
      const first = endless()
      yield* Effect.flatMap(FetchSender.make(async () => new Response(first.body))(request), (response) =>
        Body.skip(response, 0)
      )
      yield* first.closed
      const second = endless()
      const response = yield* FetchSender.make(async () => new Response(second.body))(request)
      assert.lengthOf(yield* Stream.runCollect(Stream.take(response.stream, 1)), 1)
      yield* second.closed
    })
  )

  it.effect("A body longer than its declared length is read only up to the limit", () =>
    Effect.gen(function* () {
      const long = (type: ResponseType) =>
        FetchSender.make(async () => {
          let pulled = 0
          const body = new ReadableStream<Uint8Array>({
            pull: (controller) => (pulled++ < 100 ? controller.enqueue(new Uint8Array(100)) : controller.close()),
            cancel: () => void (cut = true)
          })
          return Object.defineProperty(new Response(body, { headers: { "content-length": "10" } }), "type", {
            value: type
          })
        })(request)
      let cut = false
      const whole = yield* Effect.flip(Effect.flatMap(long("basic"), (response) => Body.text(response, 1000)))
      assert.strictEqual(whole.reason, "Overflow")
      assert.isFalse(cut)
      // A page does not see that another origin's answer is compressed; it sees the compressed length.
      const hidden = yield* Effect.flip(Effect.flatMap(long("cors"), (response) => Body.text(response, 1000)))
      assert.strictEqual(hidden.reason, "Overflow")
      assert.isTrue(cut)
    })
  )

  it.effect("A broken fetch function or body fails the request with the reason", () =>
    Effect.gen(function* () {
      const reason = new TypeError("no network")
      const thrown = yield* Effect.flip(
        FetchSender.make(() => {
          throw reason
        })(request)
      )
      const rejected = yield* Effect.flip(FetchSender.make(() => Promise.reject(reason))(request))
      const body = () => new ReadableStream({ pull: (controller) => controller.error(reason) })
      const broken = yield* FetchSender.make(async () => new Response(body()))(request)
      const again = yield* FetchSender.make(async () => new Response(body()))(request)
      const errors = [
        thrown,
        rejected,
        yield* Effect.flip(broken.arrayBuffer),
        yield* Effect.flip(Stream.runDrain(again.stream))
      ]
      for (const error of errors) assert.deepInclude(error, { message: "no network", cause: reason })
    })
  )

  it.effect("A response without a body reads as empty, and header names are lower-case", () =>
    Effect.gen(function* () {
      const send = FetchSender.make(async () => new Response(null, { status: 202, headers: { "X-A": "1" } }))
      const { headers, status, stream } = yield* send(request)
      assert.deepStrictEqual([status, headers], [202, { "x-a": "1" }])
      assert.strictEqual(Buffer.concat(yield* Stream.runCollect(stream)).length, 0)
      // A response like on a platform without streams.
      const whole = Object.defineProperty(new Response("text"), "body", { value: undefined })
      const response = yield* FetchSender.make(async () => whole)(request)
      assert.strictEqual(Buffer.concat(yield* Stream.runCollect(response.stream)).toString(), "text")
    })
  )
})
