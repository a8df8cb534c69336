/** Streamable HTTP of 2026-07-28, as a client sends and reads it. */
import { Closed } from "@effect-mcp/core/Peer"
import { type Citation, verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Queue } from "effect"
import { ask, meta, wired } from "./support/peer.ts"
import * as Raw from "./support/raw.ts"

const failure = <A, E>(fiber: Fiber.Fiber<A, E>) => Effect.flip(Fiber.join(fiber))

const closed = <A, E>(fiber: Fiber.Fiber<A, E>) =>
  Effect.map(failure(fiber), (error) => {
    assert.instanceOf(error, Closed)
    return error
  })

describe.each(Raw.clients)("2026-07-28 requests over %s", (_, http) => {
  const test = (title: string, body: Effect.Effect<void, unknown, any>, options?: Citation) =>
    it.effect(title, () => Effect.provide(Effect.scoped(body), http) as Effect.Effect<void, unknown>, options)

  test(
    "A stateless request is a POST with its metadata in headers, answered with JSON",
    Effect.gen(function* () {
      const server = yield* Raw.open
      const peer = yield* wired({ url: server.url, headers: { "x-mine": "1", "mcp-method": "forged" } })
      const asked = yield* ask(
        peer,
        "tools/call",
        { name: "café", arguments: { a: 1 } },
        { headers: { "x-more": "2" } }
      )
      const post = yield* server.next
      assert.strictEqual(post.method, "POST")
      assert.strictEqual(post.path, "/mcp")
      assert.deepInclude(post.message, { jsonrpc: "2.0", id: 1, method: "tools/call" })
      assert.deepStrictEqual(post.message.params._meta, meta)
      assert.include(post.headers["content-type"], "application/json")
      assert.include(post.headers.accept, "application/json")
      assert.include(post.headers.accept, "text/event-stream")
      assert.deepInclude(post.headers, {
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": `=?base64?${Buffer.from("café").toString("base64")}?=`,
        "x-mine": "1",
        "x-more": "2"
      })
      assert.notProperty(post.headers, "mcp-session-id")
      yield* post.result({ sum: 1 }, { "mcp-session-id": "ignored" })
      assert.deepStrictEqual(yield* Fiber.join(asked), { sum: 1 })
      const second = yield* ask(peer, "resources/read", { uri: "file:///a" })
      const read = yield* server.next
      assert.deepInclude(read.headers, { "mcp-method": "resources/read", "mcp-name": "file:///a" })
      assert.notProperty(read.headers, "mcp-session-id")
      yield* read.result({})
      yield* Fiber.join(second)
    }),
    verifies(
      "http.post.own-request",
      "http.post.accept",
      "http.post.metadata",
      "http.version.every-post",
      "http.version.matches-body",
      "http.headers.standard",
      "http.headers.name-encoded"
    )
  )

  test(
    "A stateless request is answered with events as they arrive",
    Effect.gen(function* () {
      const server = yield* Raw.open
      const peer = yield* wired({ url: server.url })
      const progress = yield* Queue.unbounded<number>()
      const onProgress = (event: { readonly progress: number }) => void Queue.offerUnsafe(progress, event.progress)
      const asked = yield* ask(peer, "tools/call", { name: "t" }, { onProgress })
      const post = yield* server.next
      yield* post.stream({ "content-type": "Text/Event-Stream; charset=utf-8" })
      yield* post.write(": still here\n\n")
      const report = (progress: number) => ({
        jsonrpc: "2.0",
        method: "notifications/progress",
        params: { progressToken: post.message.id, progress }
      })
      yield* post.event({ data: report(1) })
      assert.strictEqual(yield* Queue.take(progress), 1)
      yield* post.event({ event: "something", data: report(2) })
      yield* post.event({ id: "7", data: "" })
      // An event may be split anywhere and span several lines.
      const [a, b] = [`event: message\r\ndata: ${JSON.stringify(report(3))}\r\n\r`, "\ndata: {\ndata: "]
      yield* post.write(a)
      yield* post.write(b)
      assert.strictEqual(yield* Queue.take(progress), 3)
      yield* post.write(`${JSON.stringify({ jsonrpc: "2.0", id: post.message.id, result: { ok: "é" } }).slice(1)}\n\n`)
      assert.deepStrictEqual(yield* Fiber.join(asked), { ok: "é" })
      yield* post.end
    }),
    verifies("http.post.client-supports-both")
  )

  test(
    "A stateless request fails with a JSON-RPC error of any status and id",
    Effect.gen(function* () {
      const server = yield* Raw.open
      const peer = yield* wired({ url: server.url })
      const error = { code: -32601, message: "No such method" }
      for (const [status, id] of [
        [200, 1],
        [404, 2],
        [400, null],
        [500, undefined]
      ] as const) {
        const asked = yield* ask(peer, "tools/list")
        const post = yield* server.next
        yield* post.json({ jsonrpc: "2.0", id, error }, status)
        assert.deepInclude(yield* failure(asked), error)
      }
    })
  )

  test(
    "A status without an answer fails a stateless request, noting if the server may have acted",
    Effect.gen(function* () {
      const server = yield* Raw.open
      const peer = yield* wired({ url: server.url })
      for (const [status, body, unsent] of [
        [500, "<html>", false],
        [404, "nobody", true],
        [400, '{"jsonrpc":"2.0","id":99,"error":{"code":1,"message":"another"}}', false],
        [401, '{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"Who?"}}', true],
        [403, "", true],
        [429, "", true],
        [202, "", false],
        [204, "", false],
        [200, "no JSON", false],
        [200, '{"jsonrpc":"2.0","id":99,"result":{}}', false]
      ] as const) {
        const asked = yield* ask(peer, "tools/list")
        const post = yield* server.next
        yield* post.status(status, body, { "content-type": "application/json" })
        const error = yield* closed(asked)
        assert.deepInclude(error.cause, { reason: "Status", status })
        assert.strictEqual(error.unsent, unsent, `${status} ${body}`)
        assert.include(error.message, `${status}`)
      }
    })
  )

  test(
    "A stateless request fails immediately if its stream ends before the answer, without a retry",
    Effect.gen(function* () {
      const server = yield* Raw.open
      const peer = yield* wired({ url: server.url })
      for (const how of ["end", "destroy"] as const) {
        const asked = yield* ask(peer, "tools/list")
        const post = yield* server.next
        yield* post.stream()
        yield* post.event({ id: "1", data: "" })
        yield* post[how]
        const error = yield* closed(asked)
        assert.strictEqual(error.cause?.reason, "Read")
        assert.isFalse(error.unsent)
      }
      const cut = yield* ask(peer, "tools/list")
      yield* (yield* server.next).destroy
      assert.deepInclude(yield* closed(cut), { unsent: false })
      assert.strictEqual(yield* server.waiting, 0)
    })
  )

  test(
    "A stateless request is unsent if nothing listens on the port",
    Effect.gen(function* () {
      const { url } = yield* Effect.scoped(Raw.open)
      const peer = yield* wired({ url })
      const error = yield* closed(yield* ask(peer, "tools/list"))
      assert.strictEqual(error.cause?.reason, "Open")
      assert.isTrue(error.unsent)
      assert.include(error.message, "127.0.0.1")
    })
  )

  test(
    "A stateless request is cancelled by closing its connection",
    Effect.gen(function* () {
      const server = yield* Raw.open
      const peer = yield* wired({ url: server.url })
      const silent = yield* ask(peer, "tools/call", { name: "t" })
      const first = yield* server.next
      yield* Fiber.interrupt(silent)
      yield* first.hungUp
      const streaming = yield* ask(peer, "subscriptions/listen")
      const second = yield* server.next
      yield* second.stream()
      yield* second.event({ data: { jsonrpc: "2.0", method: "notifications/tools/list_changed" } })
      yield* Queue.take(peer.heard)
      yield* Fiber.interrupt(streaming)
      yield* second.hungUp
      assert.strictEqual(yield* server.waiting, 0)
    }),
    verifies("cancellation.client.sent")
  )

  test(
    "Closing the scope closes the connections of open requests",
    Effect.gen(function* () {
      const server = yield* Raw.open
      yield* Effect.scoped(
        Effect.gen(function* () {
          const peer = yield* wired({ url: server.url })
          yield* ask(peer, "tools/list")
          yield* ask(peer, "subscriptions/listen")
          const first = yield* server.next
          const second = yield* server.next
          yield* second.stream()
          yield* Effect.forkScoped(Effect.andThen(first.hungUp, second.hungUp))
        })
      )
      assert.strictEqual(yield* server.waiting, 0)
    })
  )

  test(
    "An oversized answer to a stateless request is rejected, as JSON and as an event",
    Effect.gen(function* () {
      const server = yield* Raw.open
      const peer = yield* wired({ url: server.url, maxMessageBytes: 1000 })
      const large = { text: "x".repeat(2000) }
      const json = yield* ask(peer, "tools/list")
      yield* (yield* server.next).result(large)
      assert.strictEqual((yield* closed(json)).cause?.reason, "Overflow")
      const chunked = yield* ask(peer, "tools/list")
      const second = yield* server.next
      yield* second.status(200, JSON.stringify({ jsonrpc: "2.0", id: second.message.id, result: large }), {
        "transfer-encoding": "chunked",
        "content-type": "application/json"
      })
      assert.strictEqual((yield* closed(chunked)).cause?.reason, "Overflow")
      const events = yield* ask(peer, "tools/list")
      const third = yield* server.next
      yield* third.stream()
      yield* third.event({ data: { jsonrpc: "2.0", id: third.message.id, result: large } })
      assert.strictEqual((yield* closed(events)).cause?.reason, "Overflow")
    })
  )

  test(
    "A large request delays the next one until the server accepts it",
    Effect.gen(function* () {
      const server = yield* Raw.open
      const peer = yield* wired({ url: server.url, highWater: 1000 })
      const large = yield* ask(peer, "tools/call", { name: "t", arguments: { text: "x".repeat(1000) } })
      const first = yield* server.next
      assert.isFalse(peer.sink.writable())
      const waiting = yield* ask(peer, "tools/list")
      yield* first.stream()
      const second = yield* server.next
      assert.isTrue(peer.sink.writable())
      yield* first.event({ data: { jsonrpc: "2.0", id: first.message.id, result: {} } })
      yield* second.result({})
      yield* Fiber.join(large)
      yield* Fiber.join(waiting)
    })
  )

  test(
    "A stateless request sends its caller's headers, but its own content type and length",
    Effect.gen(function* () {
      const server = yield* Raw.open
      const peer = yield* wired({ url: `${server.url}?tenant=a%2Fb`, headers: { "X-All": "1", "X-Both": "1" } })
      const headers = { "x-both": "2", "X-One": "3", "Content-Type": "text/plain", "Content-Length": "1" }
      const asked = yield* ask(peer, "tools/call", { name: "t", arguments: { text: "ä€𝄞" } }, { headers })
      const post = yield* server.next
      assert.deepInclude(post.headers, {
        "x-all": "1",
        "x-both": "2",
        "x-one": "3",
        "content-type": "application/json"
      })
      assert.deepInclude(post.message.params, { arguments: { text: "ä€𝄞" } })
      assert.strictEqual(post.path, "/mcp?tenant=a%2Fb")
      yield* post.result({ text: "ä€𝄞" })
      assert.deepStrictEqual(yield* Fiber.join(asked), { text: "ä€𝄞" })
    })
  )

  test(
    "A stateless request follows a same-origin redirect",
    Effect.gen(function* () {
      const server = yield* Raw.open
      const peer = yield* wired({ url: server.url })
      const asked = yield* ask(peer, "tools/list")
      yield* (yield* server.next).status(307, "", { location: "/mcp/" })
      const again = yield* server.next
      assert.strictEqual(again.path, "/mcp/")
      assert.strictEqual(again.headers["mcp-method"], "tools/list")
      yield* again.result({})
      yield* Fiber.join(asked)
    })
  )
})

describe("URLs", () => {
  it.effect("An invalid URL is rejected", () =>
    Effect.gen(function* () {
      const exit = yield* Effect.exit(wired({ url: "no url" }))
      assert.isTrue(Exit.isFailure(exit))
    }).pipe(Effect.scoped, Effect.provide(Raw.clients[0]![1]))
  )
})
