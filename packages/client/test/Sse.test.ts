/** The connector of HTTP with SSE against a server that does exactly what it is told. */
import * as Sse from "@effect-mcp/client/connector/Sse"
import * as McpClient from "@effect-mcp/client/McpClient"
import * as Peer from "@effect-mcp/core/Peer"
import { TransportError } from "@effect-mcp/core/Transport"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Layer, Logger, Queue, Scope } from "effect"
import { FetchHttpClient, HttpClient } from "effect/http"
import * as http from "node:http"
import type { AddressInfo } from "node:net"
import { initializeResult } from "./support/scripted.ts"

interface Post {
  readonly path: string
  readonly headers: http.IncomingHttpHeaders
  readonly message: any
  readonly answer: (status: number, body?: string) => void
  readonly away: (location: string) => void
}

interface Script {
  /** Begins the stream. Default: names `/messages?session=1`. */
  readonly open?: (response: http.ServerResponse) => void
  /** Told of every message. Default: accepts it. */
  readonly posted?: (post: Post, say: (message: object) => void) => void
}

const begin = (response: http.ServerResponse, endpoint = "/messages?session=1") => {
  response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" })
  response.write(`event: endpoint\ndata: ${endpoint}\n\n`)
}
const event = (message: object) => `event: message\ndata: ${JSON.stringify(message)}\n\n`

const serving = Effect.fnUntraced(function* ({
  open = begin,
  posted = ({ answer }) => answer(202, "Accepted")
}: Script) {
  const streams = new Set<http.ServerResponse>()
  const gets: Array<http.IncomingHttpHeaders> = []
  const posts = yield* Queue.unbounded<Post>()
  const hungUp = yield* Queue.unbounded<void>()
  const server = http.createServer((request, response) => {
    if (request.method === "GET") {
      gets.push(request.headers)
      streams.add(response)
      response.on("close", () => {
        streams.delete(response)
        Queue.offerUnsafe(hungUp, undefined)
      })
      return open(response)
    }
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    return request.on("end", () => {
      const post: Post = {
        path: request.url ?? "",
        headers: request.headers,
        message: JSON.parse(Buffer.concat(chunks).toString()),
        answer: (status, body) => void response.writeHead(status).end(body),
        away: (location) => void response.writeHead(307, { location }).end()
      }
      Queue.offerUnsafe(posts, post)
      posted(post, (message) => streams.forEach((stream) => stream.write(event(message))))
    })
  })
  yield* Effect.acquireRelease(
    Effect.promise(() => new Promise<void>((done) => server.listen(0, "127.0.0.1", done))),
    () => Effect.sync(() => void (server.closeAllConnections(), server.close()))
  )
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { origin, url: `${origin}/sse`, streams, gets, posts, hungUp }
})

const open = (options: Sse.Options) => Effect.provide(Sse.open(options), FetchHttpClient.layer)

/** A bare peer of the server. */
const peerOf = Effect.fnUntraced(function* (options: Sse.Options) {
  const told = yield* Queue.unbounded<string>()
  const peer = yield* Peer.make(yield* open(options), {
    request: () => Effect.succeed({ answered: true }),
    notification: ({ method }) => void Queue.offerUnsafe(told, method)
  })
  const request: Peer.Peer["request"] = (...asked) => peer.request(...asked)
  const notify: Peer.Peer["notify"] = (...said) => peer.notify(...said)
  return { request, notify, told, awaitClosed: peer.awaitClosed }
})

/** Accepts everything, and answers requests with their params. */
const echoing: NonNullable<Script["posted"]> = ({ answer, message }, say) => {
  answer(202)
  if (message.id !== undefined && message.method !== undefined) {
    say({ jsonrpc: "2.0", id: message.id, result: message.params ?? {} })
  }
}
const reasonOf = (error: unknown) => (error instanceof TransportError ? [error.reason, error.status] : error)
const quiet = Effect.provide(Logger.layer([]))

describe("messages", () => {
  it.live(
    `are posted to where the server says, in order, with the user's headers${verifies("sse.post.to-endpoint")}`,
    () =>
      Effect.gen(function* () {
        // Slow to accept the first ones: the others must not overtake.
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
      })
  )

  it.live("are posted relative to the stream, wherever that is", () =>
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
    `arrive as events named so, however the stream is cut and whatever else is on it${verifies("sse.message-event")}`,
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
      })
  )

  it.live("that ask are answered, also while the server has not accepted what they are about", () =>
    Effect.gen(function* () {
      // It accepts a message once it has handled it, as some do.
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
      const { request } = yield* peerOf({ url: server.url, patience: "10 millis" })
      assert.deepStrictEqual(yield* request("ask"), { answered: true })
    })
  )
})

describe("a server", () => {
  it.live("that answers the stream's GET otherwise is a typed error with the status", () =>
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

  it.live("that is not there, or is none, is a typed error", () =>
    Effect.gen(function* () {
      const { url } = yield* Effect.scoped(serving({}))
      assert.deepStrictEqual(reasonOf(yield* Effect.flip(open({ url }))), ["Open", undefined])
      assert.deepStrictEqual(reasonOf(yield* Effect.flip(open({ url: "nowhere" }))), ["Open", undefined])
    })
  )

  it.live("that wants messages elsewhere is refused", () =>
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
        assert.include(error.message, "another origin")
        yield* Queue.take(server.hungUp)
      }
    })
  )

  it.live("that sends its client elsewhere is followed on its own origin, and nowhere else", () =>
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

  it.live("that never says where to post is waited for, but not for ever", () =>
    Effect.gen(function* () {
      const head = (response: http.ServerResponse) =>
        response.writeHead(200, { "content-type": "text/event-stream" }).write(": hello\n\n")
      const silent = yield* serving({ open: head })
      const error = yield* Effect.flip(open({ url: silent.url, endpointTimeout: "20 millis" }))
      assert.deepStrictEqual(reasonOf(error), ["Open", undefined])
      // Nothing is left open, though the scope is.
      yield* Queue.take(silent.hungUp)
      const mute = yield* serving({ open: () => {} })
      const other = yield* Effect.flip(open({ url: mute.url, endpointTimeout: "20 millis" }))
      assert.deepStrictEqual(reasonOf(other), ["Open", undefined])
      yield* Queue.take(mute.hungUp)
      const leaving = yield* serving({ open: (response) => void (head(response), response.end()) })
      assert.deepStrictEqual(reasonOf(yield* Effect.flip(open({ url: leaving.url }))), ["Open", undefined])
    })
  )

  it.live("that ends the stream ends the conversation; what waits for it fails at once", () =>
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

  it.live("whose stream breaks breaks the wire", () =>
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

  it.live("that says too much at once breaks the wire, but not before what it said first is read", () =>
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

describe("a message that is not accepted", () => {
  it.live("fails its request with the status, and the conversation goes on", () =>
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

  it.live("since the session is unknown ends the conversation, and may safely be sent again", () =>
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

  it.live("in time counts as unanswered", () =>
    Effect.gen(function* () {
      const server = yield* serving({ posted: (post, say) => post.message.method === "echo" && echoing(post, say) })
      const peer = yield* peerOf({ url: server.url, patience: "1 millis", postTimeout: "20 millis" })
      const error = yield* Effect.flip(peer.request("ignored"))
      assert.isTrue(error._tag === "Closed" && error.unsent !== true && error.cause?.reason === "Read")
      assert.deepStrictEqual(yield* peer.request("echo", { a: 1 }), { a: 1 })
    })
  )

  it.live("is no request's business if it is none", () =>
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

describe("the end of the scope", () => {
  it.live("hangs up, once what was said last has been posted", () =>
    Effect.gen(function* () {
      // Whether the stream stands while it is posted: a server forgets the session with it.
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

  it.live("does not wait for a server that accepts nothing", () =>
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

describe("a client over HTTP with SSE", () => {
  it.live("shakes hands without asking for newer revisions first, and is closed with its layer", () =>
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

it.effect("a request whose HTTP client gives up by an interruption of its own fails over HTTP with SSE, too", () =>
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
