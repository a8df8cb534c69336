/** The HTTP with SSE connector: sending and receiving messages. */
import * as Fetch from "@effect-mcp/client/Fetch"
import * as Sse from "@effect-mcp/client/Sse"
import * as McpClient from "@effect-mcp/client/McpClient"
import * as Peer from "@effect-mcp/core/Peer"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Layer, Queue, Scope, Stream } from "effect"
import { FetchHttpClient, HttpClient } from "effect/http"
import { initializeResult } from "../support/scripted.ts"
import { begin, echoing, event, peerOf, quiet, reasonOf, serving } from "../support/sse.ts"

describe("Messages", () => {
  it.live(
    "A message is posted to the server's URI, in order, with the user's headers",
    () =>
      Effect.gen(function* () {
        // Accepts the first messages slowly; the others must not overtake them.
        let delay = 30
        const server = yield* serving({
          posted: (post, say) => void setTimeout(() => echoing(post, say), (delay = Math.max(0, delay - 3)))
        })
        const { notify, request } = yield* peerOf({ url: server.url, headers: { authorization: "Bearer x" } })
        for (let n = 1; n <= 20; n++) notify("notifications/n", { n })
        assert.deepStrictEqual(yield* request("echo", { n: 21 }), { n: 21 })
        const posts = yield* Queue.takeN(server.posts, 21)
        assert.deepStrictEqual(
          posts.map(({ message }) => message.params.n),
          Array.from({ length: 21 }, (_, index) => index + 1)
        )
        for (const { headers, path } of posts) {
          assert.strictEqual(path, "/messages?session=1")
          assert.strictEqual(headers["content-type"], "application/json")
          assert.strictEqual(headers["authorization"], "Bearer x")
        }
        assert.strictEqual(server.gets.length, 1)
        assert.deepInclude(server.gets[0], { accept: "text/event-stream", authorization: "Bearer x" })
      }),
    verifies("sse.post.to-endpoint")
  )

  it.live("The endpoint is resolved against the stream's URL, whatever its form", () =>
    Effect.gen(function* () {
      for (const [endpoint, path] of [
        ["messages?s=1", "/v1/messages?s=1"],
        ["/messages?s=1", "/messages?s=1"],
        ["?s=1", "/v1/sse?s=1"]
      ]) {
        const server = yield* serving({ open: (response) => begin(response, endpoint), posted: echoing })
        const { request } = yield* peerOf({ url: new URL(`${server.origin}/v1/sse`) })
        yield* request("echo")
        assert.strictEqual((yield* Queue.take(server.posts)).path, path)
      }
      const server = yield* serving({ posted: echoing })
      const absolute = yield* serving({
        open: (response) => begin(response, `http://${response.req.headers.host}/there`),
        posted: echoing
      })
      yield* Effect.flatMap(peerOf({ url: absolute.url }), ({ request }) => request("echo"))
      assert.strictEqual((yield* Queue.take(absolute.posts)).path, "/there")
      assert.strictEqual(server.gets.length, 0)
    })
  )

  it.live(
    'A message arrives as an unnamed or "message" event, however the stream is split',
    () =>
      Effect.gen(function* () {
        const noise = [
          ": comment\n\n",
          "event: ping\ndata: 2025\n\n",
          "event: message\ndata: not json\n\n",
          "retry: 10\n\n",
          "id: 7\n\n"
        ]
        const said = ["a", "b", "c"].map((method) => ({ jsonrpc: "2.0", method: `notifications/${method}é` }))
        const text = [
          `data: ${JSON.stringify(said[0])}\n\n`,
          ...noise,
          event(said[1] ?? {}).replaceAll("\n", "\r\n"),
          `event: message\ndata: {"jsonrpc":"2.0",\ndata: "method":"notifications/cé"}\n\n`
        ].join("")
        const bytes = new TextEncoder().encode(text)
        for (const size of [1, 2, 7, bytes.length]) {
          const server = yield* serving({
            open: (response) => {
              begin(response)
              for (let at = 0; at < bytes.length; at += size) response.write(bytes.subarray(at, at + size))
            }
          })
          const { told } = yield* peerOf({ url: server.url })
          assert.deepStrictEqual(
            yield* Queue.takeN(told, 3),
            said.map(({ method }) => method)
          )
        }
      }),
    verifies("sse.message-event")
  )

  it.live("A question is answered even before the server accepts the request that caused it", () =>
    Effect.gen(function* () {
      // Accepts a message once it has handled it, as some servers do.
      let accept = () => {}
      const server = yield* serving({
        posted: ({ answer, message }, say) => {
          if (message.method === "ask") {
            accept = () => answer(200)
            return say({ jsonrpc: "2.0", id: "question", method: "roots/list" })
          }
          answer(202)
          accept()
          return say({ jsonrpc: "2.0", id: 1, result: message.result })
        }
      })
      const { request } = yield* peerOf({ url: server.url, acceptTimeout: "10 millis" })
      assert.deepStrictEqual(yield* request("ask"), { answered: true })
    })
  )
})

describe("Messages that are not accepted", () => {
  it.live("A rejected message fails its request with the status, and the connection stays open", () =>
    Effect.gen(function* () {
      const server = yield* serving({
        posted: (post, say) => {
          const { status } = post.message.params ?? {}
          if (status === undefined) echoing(post, say)
          else post.answer(status, "No.")
        }
      })
      const peer = yield* peerOf({ url: server.url })
      for (const [status, unsent] of [
        [400, false],
        [401, true],
        [413, true],
        [429, true],
        [500, false],
        [503, true]
      ] as const) {
        const error = yield* Effect.flip(peer.request("refused", { status }))
        assert.strictEqual(error._tag, "Closed")
        if (error._tag !== "Closed") return
        assert.deepStrictEqual([...[reasonOf(error.cause)].flat(), error.unsent], ["Status", status, unsent])
        assert.include(error.message, "No.")
      }
      assert.deepStrictEqual(yield* peer.request("echo", { a: 1 }), { a: 1 })
    })
  )

  it.live("A message to an unknown session ends the connection and can be resent", () =>
    Effect.gen(function* () {
      const server = yield* serving({
        posted: ({ answer, message }) => answer(message.method === "lost" ? 404 : 202)
      })
      const peer = yield* peerOf({ url: server.url })
      const waiting = yield* Effect.forkChild(Effect.flip(peer.request("accepted")), { startImmediately: true })
      const lost = yield* Effect.flip(peer.request("lost"))
      const other = yield* Fiber.join(waiting)
      assert.isTrue(lost._tag === "Closed" && lost.unsent)
      assert.isTrue(other._tag === "Closed" && other.unsent !== true)
      for (const error of [lost, other]) {
        assert.deepStrictEqual(error._tag === "Closed" && reasonOf(error.cause), ["SessionLost", 404])
      }
      assert.deepStrictEqual(reasonOf(yield* Effect.flip(peer.awaitClosed)), ["SessionLost", 404])
      yield* Queue.take(server.hungUp)
    })
  )

  it.live("A message that is not accepted in time counts as unanswered", () =>
    Effect.gen(function* () {
      const server = yield* serving({ posted: (post, say) => post.message.method === "echo" && echoing(post, say) })
      const peer = yield* peerOf({ url: server.url, acceptTimeout: "1 millis", postTimeout: "20 millis" })
      const error = yield* Effect.flip(peer.request("ignored"))
      assert.isTrue(error._tag === "Closed" && error.unsent !== true && error.cause?.reason === "Read")
      assert.deepStrictEqual(yield* peer.request("echo", { a: 1 }), { a: 1 })
    })
  )

  it.live("A rejected notification fails no request", () =>
    Effect.gen(function* () {
      const server = yield* serving({
        posted: (post, say) => (post.message.id === undefined ? post.answer(500) : echoing(post, say))
      })
      const peer = yield* peerOf({ url: server.url })
      peer.notify("notifications/x")
      assert.deepStrictEqual(yield* peer.request("echo", { a: 1 }), { a: 1 })
    }).pipe(quiet)
  )
})

describe("Scope closing over HTTP with SSE", () => {
  it.live("Closing the scope closes the stream after the last messages are posted", () =>
    Effect.gen(function* () {
      // Records if the stream is open during the post: a server forgets the session with it.
      let standing: ReadonlyArray<number> = []
      const server = yield* serving({
        posted: ({ answer }) => {
          standing = [server.streams.size]
          answer(202)
        }
      })
      for (let round = 0; round < 20; round++) {
        const scope = yield* Scope.make()
        const peer = yield* Scope.provide(peerOf({ url: server.url }), scope)
        const request = yield* Effect.forkChild(peer.request("wait"), { startImmediately: true })
        assert.strictEqual((yield* Queue.take(server.posts)).message.method, "wait")
        yield* Fiber.interrupt(request)
        yield* Scope.close(scope, Exit.void)
        assert.strictEqual((yield* Queue.take(server.posts)).message.method, "notifications/cancelled")
        assert.deepStrictEqual(standing, [1])
        yield* Queue.take(server.hungUp)
        assert.strictEqual(server.streams.size, 0)
      }
    })
  )

  it.live("Closing the scope ends the incoming messages of an outside reader", () =>
    Effect.gen(function* () {
      const server = yield* serving({})
      const connectors = [
        Effect.provide(Sse.open({ url: server.url }), FetchHttpClient.layer),
        Fetch.open({ url: server.url, transport: "sse" })
      ]
      for (const connector of connectors) {
        const scope = yield* Scope.make()
        const { incoming } = yield* Scope.provide(connector, scope)
        const reader = yield* Effect.forkChild(Stream.runDrain(incoming), { startImmediately: true })
        yield* Scope.close(scope, Exit.void)
        yield* Fiber.join(reader)
      }
    })
  )

  it.live("Closing the scope does not wait for a server that accepts nothing", () =>
    Effect.gen(function* () {
      const server = yield* serving({ posted: () => {} })
      const scope = yield* Scope.make()
      const peer = yield* Scope.provide(peerOf({ url: server.url, flush: "10 millis" }), scope)
      for (let n = 0; n < 5; n++) peer.notify("notifications/n")
      yield* Queue.take(server.posts)
      yield* Effect.timeoutOrElse(Scope.close(scope, Exit.void), {
        duration: "2 seconds",
        orElse: () => Effect.die("The scope did not close")
      })
      yield* Queue.take(server.hungUp)
    })
  )
})

describe("Clients over HTTP with SSE", () => {
  it.live("A client over HTTP with SSE handshakes without a probe and closes with its layer", () =>
    Effect.gen(function* () {
      const server = yield* serving({
        posted: ({ answer, message }, say) => {
          answer(202)
          if (message.method === "initialize") say({ jsonrpc: "2.0", id: message.id, result: initializeResult({}) })
          else if (message.id !== undefined) say({ jsonrpc: "2.0", id: message.id, result: {} })
        }
      })
      const layer = Layer.provide(McpClient.layerSse({ url: server.url }), FetchHttpClient.layer)
      yield* Effect.gen(function* () {
        const client = yield* McpClient.McpClient
        assert.strictEqual(client.serverInfo.name, "scripted")
        yield* client.ping
      }).pipe(Effect.provide(layer))
      const posts = yield* Queue.takeN(server.posts, 3)
      assert.deepStrictEqual(
        posts.map(({ message }) => message.method),
        ["initialize", "notifications/initialized", "ping"]
      )
      yield* Queue.take(server.hungUp)
    })
  )
})

it.effect("An HTTP client that interrupts itself fails its request over HTTP with SSE", () =>
  Effect.gen(function* () {
    const server = yield* serving({})
    const interrupting = Effect.map(HttpClient.HttpClient, (http) =>
      HttpClient.make((request) => (request.method === "POST" ? Effect.interrupt : http.execute(request)))
    )
    const transport = yield* Effect.provideServiceEffect(
      Sse.open({ url: server.url }),
      HttpClient.HttpClient,
      interrupting
    )
    const peer = yield* Peer.make(transport, { request: () => Effect.never, notification: () => {} })
    assert.strictEqual((yield* Effect.flip(peer.request("any")))._tag, "Closed")
  }).pipe(Effect.provide(FetchHttpClient.layer))
)
