/** The `node:http` listener inside a connect-style framework with its own routes and users. */
import { Principal, Tool, Tools } from "@effect-mcp/core"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Queue, Schema, Scope } from "effect"
import * as Node from "../../src/http/NodeListener.ts"
import * as McpServer from "@effect-mcp/server/McpServer"
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http"
import { type Client, call, clientOf, listen } from "../http/support/http.ts"
import { openSession, request, revisions } from "../http/support/session.ts"

type Handler = (request: IncomingMessage, response: ServerResponse, next: () => void) => void
type Route = readonly [path: string, handler: Handler]

/** A handler mounted under a path sees addresses relative to that path. */
const framework =
  (routes: ReadonlyArray<Route>): RequestListener =>
  (request, response) => {
    const url = request.url ?? ""
    const from = (index: number): void => {
      const route = routes[index]
      if (route === undefined) return void response.writeHead(404).end("Nothing is here")
      const [path, handler] = route
      if (!url.startsWith(path)) return from(index + 1)
      request.url = `/${url.slice(path.length).replace(/^\//, "")}`
      handler(request, response, () => {
        request.url = url
        from(index + 1)
      })
    }
    from(0)
  }

const features = Tools.layer(
  Tool.make("whoami", { description: "Says who asks.", output: { subject: Schema.NullOr(Schema.String) } }),
  () => Effect.map(Effect.service(Principal.Principal), ({ subject = null }) => ({ subject }))
)

const mount = Effect.fnUntraced(function* (
  options: Node.Options,
  routes: (listener: Node.Listener) => ReadonlyArray<Route>
): Effect.fn.Return<Client, never, Scope.Scope> {
  const scope = yield* Scope.fork(yield* Scope.Scope)
  const context = yield* Layer.buildWithScope(McpServer.layer({ name: "test", version: "1", features }), scope)
  const http = createServer()
  yield* Scope.addFinalizer(
    scope,
    Effect.callback((resume) => void http.close(() => resume(Effect.void)))
  )
  const listener = yield* Node.make(options).pipe(Scope.provide(scope), Effect.provide(context))
  http.on("request", framework(routes(listener)))
  return clientOf(yield* listen(http), Context.get(context, McpServer.McpServer), scope)
})

const well: Route = ["/health", (_, response) => response.end("well")]
const at = (client: Client, path: string): Client => ({ ...client, fetch: (sent) => client.fetch({ path, ...sent }) })
const subject = ({ result }: any): unknown => result.structuredContent.subject

describe("A listener mounted under a path", () => {
  it.live.each(revisions)("A mounted listener serves sessions of %s alongside other routes", (version) =>
    Effect.gen(function* () {
      const client = yield* mount({}, (listener) => [well, ["/api/mcp", listener]])
      for (const path of ["/api/mcp", "/api/mcp/", "/api/mcp?tenant=1"]) {
        const session = yield* openSession(at(client, path), version)
        assert.strictEqual((yield* (yield* session.call("whoami")).json).id, 1)
        const stream = yield* session.get()
        assert.strictEqual(stream.headers["content-type"], "text/event-stream")
        assert.strictEqual((yield* session.delete).status, 204)
        yield* stream.text
      }
      assert.strictEqual(yield* (yield* client.fetch({ method: "GET", path: "/health" })).text, "well")
      assert.strictEqual(yield* (yield* client.fetch({ path: "/elsewhere" })).text, "Nothing is here")
    })
  )

  it.live("A mounted listener answers 2026-07-28 requests", () =>
    Effect.gen(function* () {
      const client = yield* mount({}, (listener) => [well, ["/api/mcp", listener]])
      const reply = yield* at(client, "/api/mcp").fetch(call("whoami"))
      assert.strictEqual(subject(yield* reply.json), null)
    })
  )
})

describe("Callers authenticated by the host", () => {
  const users: ReadonlyMap<string, string> = new Map([
    ["Bearer a", "ada"],
    ["Bearer b", "bob"]
  ])

  /** Looks the user up asynchronously, and rejects strangers. */
  const protectedServer = Effect.suspend(() => {
    const known = new WeakMap<IncomingMessage, string>()
    const guard: Handler = (request, response, next) =>
      void Promise.resolve(users.get(request.headers.authorization ?? "")).then((user) => {
        if (user === undefined) return response.writeHead(401, { "www-authenticate": "Bearer" }).end()
        known.set(request, user)
        return next()
      })
    const principal = (request: IncomingMessage) => ({ ...Principal.anonymous, subject: known.get(request) })
    return mount({ principal }, (listener) => [well, ["/", guard], ["/mcp", listener]])
  })
  const as = (token: string) => ({ authorization: `Bearer ${token}` })

  it.live("Handlers see the host's principal in both eras, and unknown callers are rejected", () =>
    Effect.gen(function* () {
      const client = yield* protectedServer
      for (const [token, user] of [
        ["a", "ada"],
        ["b", "bob"]
      ] as const) {
        assert.strictEqual(subject(yield* (yield* client.fetch(call("whoami", {}, as(token)))).json), user)
        const session = yield* openSession(client, "2025-11-25", { headers: as(token) })
        assert.strictEqual(subject(yield* (yield* session.call("whoami")).json), user)
      }
      assert.strictEqual((yield* client.fetch(call("whoami", {}, as("c")))).status, 401)
    })
  )

  it.live("The host's principal separates its users' sessions", () =>
    Effect.gen(function* () {
      const session = yield* openSession(yield* protectedServer, "2025-11-25", { headers: as("a") })
      assert.strictEqual((yield* session.post(request("ping"), as("b"))).status, 404)
      for (const method of ["GET", "DELETE"]) {
        assert.strictEqual((yield* session.send({ method, headers: as("b") })).status, 404)
      }
      assert.strictEqual((yield* session.request("ping")).status, 200)
    })
  )
})

describe("Host middleware in front of the listener", () => {
  it.live("A request whose body the host already read fails and is not counted", () =>
    Effect.gen(function* () {
      const parsing: Handler = (request, _, next) => void request.on("end", () => setImmediate(next)).resume()
      const client = yield* mount({ inFlight: 1 }, (listener) => [
        ["/parsed", parsing],
        ["/", listener]
      ])
      for (let round = 0; round < 3; round++) {
        const reply = yield* client.fetch({ ...call("whoami"), path: "/parsed" })
        assert.strictEqual(reply.status, 500)
        assert.include((yield* reply.json).error.message, "body")
      }
      assert.strictEqual((yield* client.fetch(call("whoami"))).status, 200)
    })
  )

  it.live("A request forwarded after its client disconnected is not counted", () =>
    Effect.gen(function* () {
      const arrived = yield* Queue.unbounded<void>()
      const handed = yield* Queue.unbounded<void>()
      const client = yield* mount({ inFlight: 1 }, (listener) => {
        const late: Handler = (request, response) => {
          Queue.offerUnsafe(arrived, undefined)
          response.on("close", () =>
            setImmediate(() => {
              listener(request, response)
              Queue.offerUnsafe(handed, undefined)
            })
          )
        }
        return [
          ["/late", late],
          ["/", listener]
        ]
      })
      for (let round = 0; round < 3; round++) {
        const left = client.abandon({ ...call("whoami"), path: "/late" })
        yield* Effect.scoped(Effect.andThen(left, Queue.take(arrived)))
        yield* Queue.take(handed)
      }
      assert.strictEqual((yield* client.fetch(call("whoami"))).status, 200)
    })
  )
})
