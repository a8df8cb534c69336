/** The HTTP with SSE connector: kinds of servers, and how it treats them. */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Queue } from "effect"
import { TestClock } from "effect/testing"
import type * as http from "node:http"
import { type Script, begin, echoing, event, open, peerOf, reasonOf, serving } from "../support/sse.ts"

describe("HTTP with SSE servers", () => {
  it.live("A GET answered without a stream fails with the status", () =>
    Effect.gen(function* () {
      const opening = (open: Script["open"] & object) =>
        Effect.scoped(
          Effect.flatMap(serving({ open }), ({ url }) => Effect.map(Effect.flip(peerOf({ url })), (e) => e))
        )
      for (const status of [401, 404, 405, 500]) {
        const error = yield* opening((response) => void response.writeHead(status).end("No such thing"))
        assert.deepStrictEqual(reasonOf(error), ["Status", status])
        assert.include(error.message, "No such thing")
      }
      const html = yield* opening(
        (response) => void response.writeHead(200, { "content-type": "text/html" }).end("<p>")
      )
      assert.deepStrictEqual(reasonOf(html), ["Status", 200])
    })
  )

  it.live("A server that is not listening or has an invalid URL fails with a typed error", () =>
    Effect.gen(function* () {
      const { url } = yield* Effect.scoped(serving({}))
      assert.deepStrictEqual(reasonOf(yield* Effect.flip(open({ url }))), ["Open", undefined])
      assert.deepStrictEqual(reasonOf(yield* Effect.flip(open({ url: "nowhere" }))), ["Open", undefined])
    })
  )

  it.live("A server whose endpoint has a different origin is rejected", () =>
    Effect.gen(function* () {
      for (const endpoint of [
        "http://evil.example/messages",
        "//evil.example/messages",
        "http://127.0.0.1:1/",
        "http://["
      ]) {
        const server = yield* serving({ open: (response) => begin(response, endpoint) })
        const error = yield* Effect.flip(Effect.scoped(open({ url: server.url })))
        assert.deepStrictEqual(reasonOf(error), ["Open", undefined], endpoint)
        assert.include(error.message, "different origin")
        yield* Queue.take(server.hungUp)
      }
    })
  )

  it.live("Redirects are followed only within the server's origin", () =>
    Effect.gen(function* () {
      const other = yield* serving({})
      const away = (response: http.ServerResponse, location: string) => response.writeHead(307, { location }).end()
      const server = yield* serving({
        open: (response) => {
          const { url = "" } = response.req
          if (url === "/sse") away(response, "/moved")
          else if (url === "/moved") begin(response)
          else away(response, other.url)
        },
        posted: (post, say) => {
          if (post.message.method === "away") post.away(other.url)
          else if (post.path === "/moved") echoing(post, say)
          else post.away("/moved")
        }
      })
      const { request } = yield* peerOf({ url: server.url })
      assert.deepStrictEqual(yield* request("echo", { a: 1 }), { a: 1 })
      const refused = yield* Effect.flip(request("away"))
      assert.deepStrictEqual(refused._tag === "Closed" && reasonOf(refused.cause), ["Status", 307])
      assert.deepStrictEqual(reasonOf(yield* Effect.flip(open({ url: `${server.origin}/away` }))), ["Status", 307])
      assert.deepStrictEqual([other.gets.length, yield* Queue.size(other.posts)], [0, 0])
    })
  )

  it.effect("A missing endpoint event times out and closes the GET", () =>
    Effect.gen(function* () {
      const head = (response: http.ServerResponse) =>
        void response.writeHead(200, { "content-type": "text/event-stream" }).write(": hello\n\n")
      // One sends a stream without events, the other sends nothing.
      for (const answer of [head, () => {}]) {
        const asked = yield* Deferred.make<void>()
        const server = yield* serving({
          open: (response) => {
            answer(response)
            Deferred.doneUnsafe(asked, Effect.void)
          }
        })
        const opening = yield* Effect.forkChild(Effect.flip(open({ url: server.url })))
        yield* Deferred.await(asked)
        yield* TestClock.adjust("10 seconds")
        assert.deepStrictEqual(reasonOf(yield* Fiber.join(opening)), ["Open", undefined])
        yield* Queue.take(server.hungUp)
      }
      const leaving = yield* serving({ open: (response) => void (head(response), response.end()) })
      assert.deepStrictEqual(reasonOf(yield* Effect.flip(open({ url: leaving.url }))), ["Open", undefined])
    })
  )

  it.live("A server that ends its stream ends the connection and fails pending requests immediately", () =>
    Effect.gen(function* () {
      const server = yield* serving({
        posted: ({ answer, message }) => {
          answer(202)
          if (message.method === "last") for (const stream of server.streams) stream.end()
        }
      })
      const peer = yield* peerOf({ url: server.url })
      const waiting = yield* Effect.forkChild(Effect.flip(peer.request("first")), { startImmediately: true })
      assert.strictEqual((yield* Effect.flip(peer.request("last")))._tag, "Closed")
      assert.strictEqual((yield* Fiber.join(waiting))._tag, "Closed")
      yield* peer.awaitClosed
    })
  )

  it.live("A broken stream breaks the connection", () =>
    Effect.gen(function* () {
      const server = yield* serving({
        posted: ({ answer }) => {
          answer(202)
          for (const stream of server.streams) stream.destroy()
        }
      })
      const peer = yield* peerOf({ url: server.url })
      assert.strictEqual((yield* Effect.flip(peer.request("x")))._tag, "Closed")
      assert.deepStrictEqual(reasonOf(yield* Effect.flip(peer.awaitClosed)), ["Read", undefined])
    })
  )

  it.live("A server that sends too much at once breaks the connection", () =>
    Effect.gen(function* () {
      const large = { jsonrpc: "2.0", method: "notifications/large", params: { text: "x".repeat(2000) } }
      const small = { jsonrpc: "2.0", method: "notifications/small" }
      for (const text of [event(small) + event(large), event(small) + event(large).slice(0, 1500)]) {
        const server = yield* serving({
          open: (response) => {
            begin(response)
            response.write(text)
          }
        })
        const peer = yield* peerOf({ url: server.url, maxMessageBytes: 1000 })
        assert.deepStrictEqual(reasonOf(yield* Effect.flip(peer.awaitClosed)), ["Overflow", undefined])
        assert.deepStrictEqual(yield* Queue.takeAll(peer.told), ["notifications/small"])
        yield* Queue.take(server.hungUp)
      }
    })
  )
})
