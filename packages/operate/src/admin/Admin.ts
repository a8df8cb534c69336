/**
 * The admin endpoint of a server: what runs in it, and the end of what hangs. There is none unless a program adds it.
 *
 * It shows no argument, and no id that admits its holder to a session. `Access` says which callers may see and steer.
 */
import { onShutdown } from "@effect-mcp/server/internal/Shutdown"
import { McpServer } from "@effect-mcp/server/McpServer"
import * as ByteSize from "effect/ByteSize"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import { MaxBodySize } from "effect/http/HttpIncomingMessage"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { Audit } from "../audit/Audit.ts"
import * as Access from "./Access.ts"
import { changes } from "./changes.ts"
import * as Figures from "./Figures.ts"
import { History } from "./History.ts"
import { take } from "./Snapshot.ts"

export { type AccessOptions, isLoopback, type Right, type ScopeOptions, type TokenOptions } from "./Access.ts"
export { Figures } from "./Figures.ts"
export { Ended, History, layer as layerHistory, type Options as HistoryOptions } from "./History.ts"
export { type RequestRow, type SessionRow, Snapshot, take } from "./Snapshot.ts"

export type Options = Access.AccessOptions & {
  /** The path below which its routes are. Default `/admin`. */
  readonly path?: `/${string}` | undefined
}

/** What `POST {path}/interrupt` is sent. */
export const Interrupt = Schema.Struct({
  key: Schema.String.check(Schema.isMaxLength(32)),
  reason: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(200))
})

/** What `GET {path}/access` answers: the right of the caller, and whether there is a `History`. */
export const Allowed = Schema.Struct({ right: Schema.Literals(["see", "steer"]), history: Schema.Boolean })

const { respond } = Access

/** The largest body that is read, in bytes. */
const largest = 4096
/** How many callers may follow the changes at once. */
const followersAtMost = 16
/** How many of the last events of a session are sent. */
const longest = 1000

const interrupt = Effect.gen(function* () {
  const { headers } = yield* HttpServerRequest.HttpServerRequest
  // A page of another site cannot send this type without being asked first (CORS).
  if (!/^application\/json\s*(;|$)/i.test(headers["content-type"] ?? "")) {
    return respond(415, { error: "Send application/json" })
  }
  const { requests } = yield* McpServer
  const { key, reason } = yield* Effect.provideService(
    HttpServerRequest.schemaBodyJson(Interrupt),
    MaxBodySize,
    ByteSize.bytes(largest)
  )
  const interrupted = yield* requests.interrupt(key, reason)
  yield* Effect.logInfo(`An operator interrupted ${JSON.stringify(key)}: ${JSON.stringify(reason)}`)
  const audit = yield* Effect.serviceOption(Audit)
  if (Option.isSome(audit)) {
    const { remoteAddress } = yield* HttpServerRequest.HttpServerRequest
    yield* audit.value.record({
      event: "admin.interrupt",
      actor: { address: Option.getOrUndefined(remoteAddress), transport: "http" },
      target: key,
      outcome: interrupted ? "answered" : "failed",
      details: { reason }
    })
  }
  return respond(200, { interrupted })
}).pipe(
  Effect.catchTag(["SchemaError", "HttpServerError"], () =>
    Effect.succeed(respond(400, { error: "Send { key, reason } as JSON: a key of the view, and 1 to 200 characters" }))
  )
)

/** Lines of JSON, a snapshot each, until the caller leaves or the endpoint ends. */
const follow = (closing: Effect.Effect<void>) => {
  let followers = 0
  return Effect.map(McpServer, (server) => {
    if (followers >= followersAtMost) {
      return respond(429, { error: `${followersAtMost} callers follow the changes already: close one of them` })
    }
    const body = changes(server, closing, (by) => (followers += by))
    return HttpServerResponse.stream(body, {
      contentType: "application/x-ndjson",
      headers: { "cache-control": "no-store", "x-content-type-options": "nosniff" }
    })
  })
}

/** What has ended in a session, which `?session=` names; without one, of POSTs without a session. */
const past = Effect.gen(function* () {
  const history = yield* Effect.serviceOption(History)
  if (Option.isNone(history))
    return respond(404, { error: "The server keeps no history: give it Admin.layerHistory()" })
  const { url } = yield* HttpServerRequest.HttpServerRequest
  const session = new URL(url, "http://localhost").searchParams.get("session") ?? undefined
  return respond(200, { ended: history.value.of(session).slice(-longest) })
})

/**
 * Adds the routes of the admin endpoint to the router, for `effect-mcp top` and the page of `@effect-mcp/console`. Where the layer is given
 * an `Audit`, each interrupt is an entry of it (`admin.interrupt`). With tokens, mount it on a listener of its own, on loopback. What a
 * proxy has forwarded is refused, for behind it every caller would seem to be local.
 *
 * - `GET {path}/requests`: what runs now, a `Snapshot`
 * - `GET {path}/changes`: a `Snapshot` for each change, as lines of JSON
 * - `GET {path}/metrics`: `Figures`
 * - `GET {path}/history?session=ID`: `{ ended }`, the last of the session, where the layer is given `Admin.layerHistory()`
 * - `GET {path}/access`: `Allowed`
 * - `POST {path}/interrupt`: ends the request of a `key`, with a `reason`
 *
 * @example
 * ```ts
 * import { NodeHttpServer } from "@effect/platform-node"
 * import { Admin } from "@effect-mcp/operate"
 * import { McpServer } from "@effect-mcp/server"
 * import { Config, Effect, Layer } from "effect"
 * import { createServer } from "node:http"
 *
 * const routes = Layer.unwrap(Effect.map(Config.Redacted("ADMIN_TOKEN"), (token) => Admin.layer({ token })))
 *
 * export const admin = McpServer.serveHttp(routes).pipe(
 *   Layer.provide(NodeHttpServer.layer(createServer, { port: 9464, host: "127.0.0.1" }))
 * )
 *
 * // Beside the server, over stdio or HTTP.
 * export const withAdmin = (server: Layer.Layer<McpServer.McpServer>) => Layer.provideMerge(admin, server)
 * ```
 */
export const layer = (options: Options): Layer.Layer<never, never, McpServer | HttpRouter.HttpRouter> =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const { path = "/admin" } = options
      const router = yield* HttpRouter.HttpRouter
      const admit = yield* Access.make(options)
      const closing = yield* Deferred.make<void>()
      yield* onShutdown(Effect.asVoid(Deferred.succeed(closing, undefined)))
      const context = yield* Effect.context<McpServer>()
      // The handlers of a route have only what they are provided.
      const audit = yield* Effect.serviceOption(Audit)
      const history = yield* Effect.serviceOption(History)
      const server = yield* McpServer
      const withServer = Effect.provideService(McpServer, server)
      const noted = Option.isSome(audit) ? Effect.provideService(interrupt, Audit, audit.value) : interrupt
      const remembered = Option.isSome(history) ? Effect.provideService(past, History, history.value) : past
      const figures = Effect.map(Clock.currentTimeMillis, (now) => respond(200, Figures.read(context, now)))
      const following = follow(Deferred.await(closing))
      const snapshot = Effect.map(take, (snapshot) => respond(200, snapshot))
      yield* router.add(
        "GET",
        `${path}/requests`,
        admit("see", () => snapshot.pipe(withServer))
      )
      yield* router.add(
        "GET",
        `${path}/changes`,
        admit("see", () => following.pipe(withServer))
      )
      yield* router.add(
        "GET",
        `${path}/metrics`,
        admit("see", () => figures)
      )
      yield* router.add(
        "GET",
        `${path}/history`,
        admit("see", () => remembered)
      )
      yield* router.add(
        "POST",
        `${path}/interrupt`,
        admit("steer", () => noted.pipe(withServer))
      )
      yield* router.add(
        "GET",
        `${path}/access`,
        admit("see", (right) => Effect.succeed(respond(200, { right, history: Option.isSome(history) })))
      )
    })
  )
