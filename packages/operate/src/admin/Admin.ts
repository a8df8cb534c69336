/**
 * The admin endpoint of a server: what runs in it, and the end of what hangs. There is none unless a program adds it.
 *
 * It shows no argument, and no id that admits its holder to a session. `Access` says which callers may see and steer.
 */
import { onShutdown } from "@effect-mcp/server/internal/Shutdown"
import { McpServer } from "@effect-mcp/server/McpServer"
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as ByteSize from "effect/ByteSize"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { FileSystem } from "effect/FileSystem"
import { constant } from "effect/Function"
import { MaxBodySize } from "effect/http/HttpIncomingMessage"
import * as HttpRouter from "effect/http/HttpRouter"
import type { HttpServer } from "effect/http/HttpServer"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { Scope } from "effect/Scope"
import * as Stream from "effect/Stream"
import { Audit } from "../audit/Audit.ts"
import * as Access from "./Access.ts"
import { type ActionResponse, DrainRequest, Interrupt, LevelRequest, perform } from "./Action.ts"
import { changes } from "./changes.ts"
import * as Cluster from "./Cluster.ts"
import * as Figures from "./Figures.ts"
import { History } from "./History.ts"
import * as Messages from "./Messages.ts"

export { type AccessOptions, isLoopback, type Right, type ScopeOptions, type TokenOptions } from "./Access.ts"
export { Figures } from "./Figures.ts"
export { Ended, History, layer as layerHistory, type Options as HistoryOptions } from "./History.ts"
export { Interrupt } from "./Action.ts"
export { layer as layerMessages, MessageRow as Message, Messages, type Options as MessageOptions } from "./Messages.ts"
export { type NodeRow, type SnapshotRow as RequestRow, type SessionRow, Snapshot, take } from "./Snapshot.ts"

export type Options = Access.AccessOptions & SocketOptions

/** Options of an admin endpoint, whatever admits its callers. */
export interface SocketOptions {
  /** The path below which its routes are. Default `/admin`. */
  readonly path?: `/${string}` | undefined
  /** How long requests may still run once an operator drains the server. Default 30 seconds. */
  readonly drain?: Duration.Input | undefined
  /**
   * Runs once a drain is over and no session is open any more, such as the end of the program. Default: nothing, and the server takes
   * no session until its program ends.
   */
  readonly onDrained?: Effect.Effect<void> | undefined
}

/** What `GET {path}/access` answers: the right of the caller, and whether there is a `History`. */
export const Allowed = Schema.Struct({ right: Schema.Literals(["see", "steer"]), history: Schema.Boolean })

const { respond } = Access

/** The largest body that is read, in bytes. */
const largest = 4096
/** How many callers may follow the changes at once. */
const followersAtMost = 16

/** What an operator did, for the log and the audit trail. */
interface Deed {
  readonly event: string
  readonly says: string
  readonly target: string | undefined
  readonly details?: JsonObject
  readonly isDone: boolean
}

const noted = Effect.fnUntraced(function* (
  audit: Option.Option<Audit["Service"]>,
  { details, event, isDone, says, target }: Deed
) {
  yield* Effect.logInfo(`An operator ${says}`)
  if (Option.isNone(audit)) return
  const { remoteAddress } = yield* HttpServerRequest.HttpServerRequest
  yield* audit.value.record({
    event,
    actor: { address: Option.getOrUndefined(remoteAddress), transport: "http" },
    target,
    outcome: isDone ? "answered" : "failed",
    ...(details === undefined ? undefined : { details })
  })
})

const quoted = (text: string): string => JSON.stringify(text)
const respondWith = ({ body, status }: ActionResponse) => respond(status, body)

/** Reads a body of JSON that a page of another site cannot send without being asked first (CORS). */
const posted = <A, E, R>(
  schema: Schema.Codec<A, unknown>,
  expected: string,
  use: (value: A) => Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>
) =>
  Effect.gen(function* () {
    const { headers } = yield* HttpServerRequest.HttpServerRequest
    if (!/^application\/json\s*(;|$)/i.test(headers["content-type"] ?? "")) {
      return respond(415, { error: "Send application/json" })
    }
    const read = Effect.provideService(HttpServerRequest.schemaBodyJson(schema), MaxBodySize, ByteSize.bytes(largest))
    return yield* Effect.matchEffect(read, {
      onSuccess: use,
      onFailure: () => Effect.succeed(respond(400, { error: `Send ${expected} as JSON` }))
    })
  })

/**
 * Lines of JSON, a snapshot each, until the caller leaves or the endpoint ends. A follower counts from its answer to the end of its response,
 * whether or not it reads.
 */
const follow = (lines: Stream.Stream<Uint8Array>, closing: Effect.Effect<void>) => {
  let followers = 0
  const place = Effect.acquireRelease(
    Effect.sync(() => followers < followersAtMost && ++followers > 0),
    (isTaken) => Effect.sync(() => void (followers -= isTaken ? 1 : 0))
  )
  return Effect.map(place, (isTaken) =>
    isTaken
      ? HttpServerResponse.stream(lines.pipe(Stream.interruptWhen(closing)), {
          contentType: "application/x-ndjson",
          headers: { "cache-control": "no-store", "x-content-type-options": "nosniff" }
        })
      : respond(429, { error: `${followersAtMost} callers follow the changes already: close one of them` })
  )
}

/** The session that the query names. */
const asked = Effect.map(HttpServerRequest.HttpServerRequest, ({ url }) => {
  return new URL(url, "http://localhost").searchParams.get("session")?.slice(0, 512)
})

type Answering = Effect.Effect<
  HttpServerResponse.HttpServerResponse,
  never,
  HttpServerRequest.HttpServerRequest | Scope
>

/** What the routes do that steer. */
const steering = (cluster: Cluster.Cluster, audit: Option.Option<Audit["Service"]>) => ({
  interrupt: posted(Interrupt, "{ key, reason }: a key of the view, and 1 to 200 characters", ({ key, reason }) =>
    Effect.gen(function* () {
      const answer = yield* cluster.perform({ _tag: "Interrupt", key, reason })
      const isDone = "interrupted" in answer.body && answer.body.interrupted === true
      const says = `interrupted ${quoted(key)}: ${quoted(reason)}`
      yield* noted(audit, { event: "admin.interrupt", says, target: key, details: { reason }, isDone })
      return respondWith(answer)
    })
  ),
  level: posted(
    LevelRequest,
    "{ session, level }: a session of the view, and debug, info, notice, warning, error, critical, alert or emergency",
    ({ level, session }) =>
      Effect.gen(function* () {
        const answer = yield* cluster.perform({ _tag: "Level", session, level })
        const says = `set the log level of the session ${quoted(session)} to ${level}`
        yield* noted(audit, {
          event: "admin.level",
          says,
          target: session,
          details: { level },
          isDone: answer.status === 200
        })
        return respondWith(answer)
      })
  ),
  drain: posted(DrainRequest, "{} or { node }: the name of a node of the view", ({ node }) =>
    Effect.gen(function* () {
      const answer = yield* cluster.drain(node)
      const says = node === undefined ? "drains the server" : `drains the node ${quoted(node)}`
      yield* noted(audit, { event: "admin.drain", says, target: node, isDone: answer.status === 200 })
      return respondWith(answer)
    })
  ),
  /** The first look at a session is noted. */
  messages: Effect.gen(function* () {
    const session = yield* asked
    if (session === undefined) return respond(400, { error: "Name a session of the view: ?session=ID" })
    const answer = yield* cluster.perform({ _tag: "Messages", session })
    if ("began" in answer.body && answer.body.began === true) {
      const says = `looks at the messages of the session ${quoted(session)}`
      yield* noted(audit, { event: "admin.messages", says, target: session, isDone: true })
    }
    return respondWith(answer)
  })
})

/**
 * Adds the routes of the admin endpoint to the router, for `effect-mcp top` and the page of `@effect-mcp/operate/console`. Where the layer is given
 * an `Audit`, what its callers do is an entry of it (`admin.interrupt`, `admin.level`, `admin.drain`, `admin.messages`). With tokens, mount it on a listener of its own, on loopback. What a
 * proxy has forwarded is refused, for behind it every caller would seem to be local.
 *
 * - `GET {path}/requests`: what runs now, a `Snapshot`
 * - `GET {path}/changes`: a `Snapshot` for each change, as lines of JSON
 * - `GET {path}/metrics`: `Figures`
 * - `GET {path}/history?session=ID`: `{ ended }`, the last of the session, where the layer is given `Admin.layerHistory()`
 * - `GET {path}/access`: `Allowed`
 * - `GET {path}/messages?session=ID`: `{ messages }` of the last minute, from the first look on; see `Admin.layerMessages`
 * - `POST {path}/interrupt`: ends the request of a `key`, with a `reason`
 * - `POST {path}/level`: sets the least `level` of log messages that the client of a `session` is sent
 * - `POST {path}/drain`: takes no new session, lets requests end, then ends all sessions; of a server of several nodes that of a `node`
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
  routes(options, Access.make(options))

/**
 * The same on a Unix socket, for `effect-mcp top /path/of/the.sock`. The file admits: there is no token, and what comes by the socket may
 * see and steer. The program does not start where others than its user could open the socket.
 *
 * @example
 * ```ts
 * import { NodeHttpServer } from "@effect/platform-node"
 * import { Admin } from "@effect-mcp/operate"
 * import * as PrivateSocket from "@effect-mcp/operate/PrivateSocket"
 * import { McpServer } from "@effect-mcp/server"
 * import { Layer } from "effect"
 *
 * export const admin = McpServer.serveHttp(Admin.layerSocket()).pipe(
 *   Layer.provide(NodeHttpServer.layer(PrivateSocket.createServer, { path: "/run/user/1000/hello.sock" }))
 * )
 * ```
 */
export const layerSocket = (
  options: SocketOptions = {}
): Layer.Layer<never, never, FileSystem | HttpRouter.HttpRouter | HttpServer | McpServer> =>
  routes(options, Access.makeSocket)

const routes = <R>(
  { drain = "30 seconds", onDrained, path = "/admin" }: SocketOptions,
  access: Effect.Effect<Access.Admit, never, R>
): Layer.Layer<never, never, Exclude<R, Scope> | McpServer | HttpRouter.HttpRouter> =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const router = yield* HttpRouter.HttpRouter
      const admit = yield* access
      const closing = yield* Deferred.make<void>()
      yield* onShutdown(Effect.asVoid(Deferred.succeed(closing, undefined)))
      const context = yield* Effect.context<McpServer>()
      // The handlers of a route have only what they are provided.
      const audit = yield* Effect.serviceOption(Audit)
      const history = Option.getOrUndefined(yield* Effect.serviceOption(History))
      const given = yield* Effect.serviceOption(Messages.Messages)
      const messages = Option.isSome(given) ? given.value : (yield* Messages.make({})).messages
      const server = yield* McpServer
      const cluster = yield* Cluster.make(server, (action) => perform(action, { history, messages, patience: drain }))
      if (onDrained !== undefined) yield* Effect.forkScoped(Effect.andThen(server.drain.over, onDrained))
      const steer = steering(cluster, audit)
      const followed = follow(yield* changes(server, cluster), Deferred.await(closing))
      const routes: ReadonlyArray<readonly ["GET" | "POST", string, Access.Right, (right: Access.Right) => Answering]> =
        [
          ["GET", "requests", "see", () => Effect.map(cluster.snapshot, (snapshot) => respond(200, snapshot))],
          ["GET", "changes", "see", constant(followed)],
          [
            "GET",
            "metrics",
            "see",
            () => Effect.map(Clock.currentTimeMillis, (now) => respond(200, Figures.read(context, now)))
          ],
          [
            "GET",
            "history",
            "see",
            () =>
              Effect.flatMap(asked, (session) => Effect.map(cluster.perform({ _tag: "History", session }), respondWith))
          ],
          ["GET", "access", "see", (right) => Effect.succeed(respond(200, { right, history: history !== undefined }))],
          ["GET", "messages", "steer", () => steer.messages],
          ["POST", "interrupt", "steer", () => steer.interrupt],
          ["POST", "level", "steer", () => steer.level],
          ["POST", "drain", "steer", () => steer.drain]
        ]
      for (const [method, name, right, answer] of routes) {
        yield* router.add(method, `${path}/${name}`, admit(right, answer))
      }
    })
  )
