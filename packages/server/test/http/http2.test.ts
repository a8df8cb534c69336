/** The `node:http` listener under Node's HTTP/2 compatibility API. */
import * as Progress from "@effect-mcp/core/Progress"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import * as Node from "../../src/http/NodeListener.ts"
import * as McpServer from "@effect-mcp/server/McpServer"
import { assert, describe, it } from "@effect/vitest"
import { type Cause, Effect, Exit, Layer, Queue, Scope } from "effect"
import * as Http2 from "node:http2"
import type { Client, Reply, Sent } from "./support/http.ts"
import { call, echo, sent } from "./support/http.ts"
import * as Puppet from "./support/puppet.ts"
import { openSession, revisions } from "./support/session.ts"

const basic = { "content-type": "application/json", accept: "application/json, text/event-stream" }

/** Like HTTP/1: returns once the headers arrive. Events are parsed into their messages. */
const fetchOver =
  (client: Http2.ClientHttp2Session) =>
  ({ body, headers, method = "POST", path = "/mcp" }: Sent): Effect.Effect<Reply> =>
    Effect.callback((resume) => {
      const all = Object.entries({ ...basic, ...headers }).filter(([, value]) => value !== undefined)
      const stream = client.request({ ":method": method, ":path": path, ...Object.fromEntries(all) })
      const said = Effect.runSync(Queue.unbounded<any, Cause.Done>())
      let whole = ""
      let rest = ""
      stream.setEncoding("utf8").on("data", (part: string) => {
        whole += part
        const lines = `${rest}${part}`.split("\n")
        rest = lines.pop() ?? ""
        for (const line of lines) {
          if (/^data: ./.test(line)) Queue.offerUnsafe(said, JSON.parse(line.slice("data: ".length)))
        }
      })
      const closed = new Promise<string>((done) => stream.on("close", () => done(whole)))
      stream.on("close", () => Queue.endUnsafe(said))
      stream.on("error", () => {})
      stream.on("response", ({ ":status": status = 0, ...headers }) =>
        resume(
          Effect.succeed({
            status,
            headers,
            text: Effect.promise(() => closed),
            json: Effect.promise(async () => JSON.parse(await closed)),
            next: Queue.take(said),
            event: Effect.map(Queue.take(said), (data) => ({ data })),
            disconnect: Effect.sync(() => stream.close(Http2.constants.NGHTTP2_CANCEL)),
            resume: Effect.void
          })
        )
      )
      stream.end(body)
    })

/** `shutdown` ends the endpoint, like `dispose`. */
const open = Effect.fnUntraced(function* (features: Layer.Layer<never, never, McpServer.Registries>) {
  const scope = yield* Scope.fork(yield* Scope.Scope)
  const context = yield* Layer.buildWithScope(
    Layer.fresh(McpServer.layer({ name: "test", version: "1", features })),
    scope
  )
  const listener = yield* Node.make({ sessions: { grace: 0 }, resume: false }).pipe(
    Scope.provide(scope),
    Effect.provide(context)
  )
  const closed = yield* Queue.unbounded<string>()
  const http = Http2.createServer((request, response) => {
    response.on("close", () => Queue.offerUnsafe(closed, request.method))
    listener(request as never, response as never)
  })
  yield* Effect.acquireRelease(
    Effect.callback<void>((resume) => void http.listen(0, "127.0.0.1", () => resume(Effect.void))),
    () => Effect.callback<void>((resume) => void http.close(() => resume(Effect.void)))
  )
  const address = http.address()
  const client = Http2.connect(`http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`)
  yield* Effect.addFinalizer(() => Effect.sync(() => client.destroy()))
  return {
    fetch: fetchOver(client),
    client,
    /** Methods of the requests that the server has closed. */
    closed,
    abandon: (() => Effect.void) satisfies Client["abandon"],
    shutdown: Scope.close(scope, Exit.void)
  }
})

/** Adds another tool. */
const growing = Layer.unwrap(
  Effect.gen(function* () {
    const scope = yield* Scope.Scope
    const registries = yield* Effect.context<McpServer.Registries>()
    return Tools.layer(Tool.make("grow", { description: "Adds a tool." }), () =>
      Effect.as(Effect.provideContext(Layer.buildWithScope(echo, scope), registries), "added")
    )
  })
)

const progress = (n: number) => ({ method: "notifications/progress", params: { progressToken: 1, progress: n } })

describe.each(revisions)("HTTP/2 in %s", (version) => {
  it.live("An HTTP/2 session opens, streams progress and ends when the client disconnects", () =>
    Effect.gen(function* () {
      const puppet = yield* Puppet.make
      const session = yield* openSession(yield* open(Layer.merge(echo, puppet.layer)), version)
      assert.strictEqual(session.initialized.result.protocolVersion, version)
      const reply = yield* session.call("echo", { text: "hei" }, 7)
      assert.strictEqual(reply.headers["content-type"], "application/json")
      assert.strictEqual((yield* reply.json).result.content[0].text, "hei")

      yield* puppet.tell("a", Progress.report(1))
      const followed = yield* session.follow("puppet", { name: "a" })
      assert.strictEqual(followed.headers["content-type"], "text/event-stream")
      assert.deepInclude(yield* followed.next, progress(1))
      yield* puppet.tell("a", Progress.report(2))
      assert.deepInclude(yield* followed.next, progress(2))
      yield* puppet.tell("a", Puppet.answer("done"))
      assert.strictEqual((yield* followed.next).result.content[0].text, "done")
      yield* followed.text
      assert.deepStrictEqual(yield* Queue.take(puppet.ended), ["a", "done"])

      yield* puppet.tell("b", Progress.report(1))
      const left = yield* session.follow("puppet", { name: "b" })
      yield* left.next
      yield* left.disconnect
      assert.deepStrictEqual(yield* Queue.take(puppet.ended), ["b", "interrupted"])
    })
  )

  it.live("The standalone GET stream over HTTP/2 ends with its session", () =>
    Effect.gen(function* () {
      const session = yield* openSession(yield* open(growing), version)
      const stream = yield* session.get()
      assert.strictEqual(stream.headers["content-type"], "text/event-stream")
      yield* session.call("grow")
      assert.deepInclude(yield* stream.next, { method: "notifications/tools/list_changed" })
      assert.strictEqual((yield* session.delete).status, 204)
      yield* stream.text
      assert.strictEqual((yield* session.request("ping")).status, 404)
    })
  )
})

describe("HTTP/2", () => {
  it.live("An HTTP/2 stream cancelled immediately without an error code is released", () =>
    Effect.gen(function* () {
      const opened = yield* open(echo)
      const { id } = yield* openSession(opened)
      const asked = { ":method": "GET", ":path": "/mcp", accept: "text/event-stream", "mcp-session-id": id }
      for (let turn = 0; turn < 8; turn++) {
        const stream = opened.client.request(asked).on("error", () => {})
        setImmediate(() => stream.close(Http2.constants.NGHTTP2_NO_ERROR))
        yield* Effect.repeat(Queue.take(opened.closed), { until: (method) => method === "GET" })
      }
    })
  )
})

describe("HTTP/2 in 2026-07-28", () => {
  it.live("An HTTP/2 request streams progress and is interrupted when the client disconnects", () =>
    Effect.gen(function* () {
      const puppet = yield* Puppet.make
      const { fetch } = yield* open(Layer.merge(echo, puppet.layer))
      const reply = yield* fetch(call("echo", { text: "hei" }))
      assert.strictEqual(reply.status, 200)
      assert.strictEqual((yield* reply.json).result.content[0].text, "hei")
      yield* puppet.tell("a", Progress.report(1))
      const followed = yield* fetch(call("puppet", { name: "a" }, {}, { progressToken: 1 }))
      assert.deepInclude(yield* followed.next, progress(1))
      yield* followed.disconnect
      assert.deepStrictEqual(yield* Queue.take(puppet.ended), ["a", "interrupted"])
    })
  )

  it.live("The HTTP/2 host is read from `:authority` and checked", () =>
    Effect.gen(function* () {
      const { fetch } = yield* open(echo)
      const status = (sent: Sent) => Effect.map(fetch(sent), ({ status }) => status)
      assert.strictEqual(yield* status(sent("tools/list")), 200)
      assert.strictEqual(yield* status(sent("tools/list", {}, { ":authority": "evil.example.com" })), 403)
      assert.strictEqual(yield* status(sent("tools/list", {}, { origin: "https://elsewhere.test" })), 403)
      assert.strictEqual(yield* status({ method: "PUT" }), 405)
    })
  )

  it.live("Shutdown ends open HTTP/2 streams", () =>
    Effect.gen(function* () {
      const { fetch, shutdown } = yield* open(echo)
      const listening = yield* fetch(sent("subscriptions/listen", { notifications: { toolsListChanged: true } }))
      assert.strictEqual((yield* listening.next).method, "notifications/subscriptions/acknowledged")
      yield* shutdown
      assert.property(yield* listening.next, "result")
      yield* listening.text
    })
  )
})
