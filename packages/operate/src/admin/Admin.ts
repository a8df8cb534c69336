/**
 * A server's admin endpoint, which shows running requests and interrupts stuck ones. Programs have no admin endpoint unless they add one.
 *
 * It never shows arguments, or IDs that grant access to a session. `Access` decides which callers may view and control the server.
 */
import { onShutdown } from "@effect-mcp/server/internal/sharing"
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
import {
  type ActionResponse,
  DrainRequest,
  Interrupt,
  InterruptAll,
  interruptedAtMost,
  LevelRequest,
  perform
} from "./Action.ts"
import { changes } from "./changes.ts"
import * as Cluster from "./Cluster.ts"
import * as Figures from "./Figures.ts"
import { History } from "./History.ts"
import * as Messages from "./Messages.ts"

export { type AccessOptions, isLoopback, type Right, type ScopeOptions, type TokenOptions } from "./Access.ts"
export { Figures } from "./Figures.ts"
export { Ended, History, layer as layerHistory, type Options as HistoryOptions } from "./History.ts"
export { Interrupt, InterruptAll } from "./Action.ts"
export { type ProblemRow, Recent, type Sample, type ToolRow } from "./Recent.ts"
export { layer as layerMessages, MessageRow as Message, Messages, type Options as MessageOptions } from "./Messages.ts"
export {
  type NodeRow,
  type ServerRow,
  type SnapshotRow as RequestRow,
  type SessionRow,
  Snapshot,
  take
} from "./Snapshot.ts"

export type Options = Access.AccessOptions & SocketOptions

/** Options for an admin endpoint, however it authenticates callers. */
export interface SocketOptions {
  /** Path prefix for its routes. Default `/admin`. */
  readonly path?: `/${string}` | undefined
  /** How long requests may keep running after an operator started draining the server. Default 30 seconds. */
  readonly drain?: Duration.Input | undefined
  /**
   * Runs once a drain is over and no session is open, for example to exit the program. By default nothing runs, and the server stays up
   * without accepting new sessions.
   */
  readonly onDrained?: Effect.Effect<void> | undefined
}

/** Response to `GET {path}/access`: the caller's right, and whether there is a `History`. */
export const Allowed = Schema.Struct({ right: Schema.Literals(["see", "steer"]), history: Schema.Boolean })

const { respond } = Access

/** Maximum body size to read, in bytes. */
const largest = 4096
/** Same as above, for a body with many keys. */
const largestOfMany = 192 * 1024
/** Number of requests in a list to interrupt at the same time. */
const interruptedAtOnce = 16
/** Maximum number of callers that can follow changes at the same time. */
const followersAtMost = 16

/** An operator's action, for the log and the audit trail. */
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

/** Reads a JSON body. Another site's page can't send one without a CORS preflight. */
const posted = <A, E, R>(
  schema: Schema.Codec<A, unknown>,
  expected: string,
  use: (value: A) => Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>,
  size = largest
) =>
  Effect.gen(function* () {
    const { headers } = yield* HttpServerRequest.HttpServerRequest
    if (!/^application\/json\s*(;|$)/i.test(headers["content-type"] ?? "")) {
      return respond(415, { error: "Content-Type must be application/json" })
    }
    const read = Effect.provideService(HttpServerRequest.schemaBodyJson(schema), MaxBodySize, ByteSize.bytes(size))
    return yield* Effect.matchEffect(read, {
      onSuccess: use,
      onFailure: () => Effect.succeed(respond(400, { error: `Invalid body. Expected JSON ${expected}` }))
    })
  })

/**
 * Streams snapshots as lines of JSON until the caller disconnects or the endpoint closes. A follower counts from the start to the end of
 * its response, whether or not it is reading.
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
      : respond(429, { error: `Too many callers are following changes (limit ${followersAtMost}). Close one of them` })
  )
}

/** Returns the session named in the query. */
const asked = Effect.map(HttpServerRequest.HttpServerRequest, ({ url }) => {
  return new URL(url, "http://localhost").searchParams.get("session")?.slice(0, 512)
})

/** Returns the time in the query, or the earliest time if there is none. */
const askedSince = Effect.map(HttpServerRequest.HttpServerRequest, ({ url }) => {
  const since = Number(new URL(url, "http://localhost").searchParams.get("since"))
  return Number.isFinite(since) ? since : 0
})

const recentOf = (cluster: Cluster.Cluster, since: number) =>
  Effect.map(cluster.recent(since), (recent) =>
    recent === undefined
      ? respond(404, { error: "The server keeps no history. Provide Admin.layerHistory() to enable it" })
      : respond(200, recent)
  )

type Answering = Effect.Effect<
  HttpServerResponse.HttpServerResponse,
  never,
  HttpServerRequest.HttpServerRequest | Scope
>

/** Interrupts a request, and records that the operator did so. */
const interruptOne = Effect.fnUntraced(function* (
  cluster: Cluster.Cluster,
  audit: Option.Option<Audit["Service"]>,
  { key, reason }: typeof Interrupt.Type
) {
  const answer = yield* cluster.perform({ _tag: "Interrupt", key, reason })
  const isDone = "interrupted" in answer.body && answer.body.interrupted === true
  const says = `interrupted ${quoted(key)}: ${quoted(reason)}`
  yield* noted(audit, { event: "admin.interrupt", says, target: key, details: { reason }, isDone })
  return { answer, isDone }
})

/** Handlers for the routes that require `steer`. */
const steering = (cluster: Cluster.Cluster, audit: Option.Option<Audit["Service"]>) => ({
  interrupt: posted(Interrupt, "{ key, reason }, with a request's key and a reason of 1 to 200 characters", (asked) =>
    Effect.map(interruptOne(cluster, audit, asked), ({ answer }) => respondWith(answer))
  ),
  interruptAll: posted(
    InterruptAll,
    `{ keys, reason }, with up to ${interruptedAtMost} request keys and a reason of 1 to 200 characters`,
    ({ keys, reason }) =>
      Effect.map(
        Effect.forEach(
          keys,
          (key) =>
            Effect.map(interruptOne(cluster, audit, { key, reason }), ({ answer, isDone }) => ({
              key,
              outcome: isDone ? "interrupted" : answer.status === 200 ? "ended" : "unreachable"
            })),
          { concurrency: interruptedAtOnce }
        ),
        (outcomes) => respond(200, { outcomes })
      ),
    largestOfMany
  ),
  level: posted(
    LevelRequest,
    "{ session, level }, with a session's id and debug, info, notice, warning, error, critical, alert or emergency",
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
  drain: posted(DrainRequest, "{} or { node }, with a node's name", ({ node }) =>
    Effect.gen(function* () {
      const answer = yield* cluster.drain(node)
      const says = node === undefined ? "started draining the server" : `started draining the node ${quoted(node)}`
      yield* noted(audit, { event: "admin.drain", says, target: node, isDone: answer.status === 200 })
      return respondWith(answer)
    })
  ),
  /** Records the first time an operator looks at a session. */
  messages: Effect.gen(function* () {
    const session = yield* asked
    if (session === undefined) return respond(400, { error: "Missing query parameter: ?session=ID" })
    const answer = yield* cluster.perform({ _tag: "Messages", session })
    if ("began" in answer.body && answer.body.began === true) {
      const says = `started viewing the messages of the session ${quoted(session)}`
      yield* noted(audit, { event: "admin.messages", says, target: session, isDone: true })
    }
    return respondWith(answer)
  })
})

/**
 * Adds the admin endpoint's routes to the router, for `effect-mcp top` and the `@effect-mcp/operate/console` page. If you provide an
 * `Audit` to the layer, it records the callers' actions (`admin.interrupt`, `admin.level`, `admin.drain`, `admin.messages`). When you use
 * tokens, mount the endpoint on a separate loopback listener. Requests forwarded by a proxy are rejected, because behind a proxy every
 * caller would appear to be local.
 *
 * - `GET {path}/requests`: a `Snapshot` of everything that is running
 * - `GET {path}/changes`: a `Snapshot` after each change, as lines of JSON
 * - `GET {path}/metrics`: `Figures`
 * - `GET {path}/history?session=ID`: `{ ended }`, the session's recent events, if you provide `Admin.layerHistory()` to the layer
 * - `GET {path}/recent?since=TIME`: `Recent`, the last 15 minutes: samples after `since`, tools and problems, with the same history
 * - `GET {path}/access`: `Allowed`
 * - `GET {path}/messages?session=ID`: `{ messages }` of the last minute, starting with the first look; see `Admin.layerMessages`
 * - `POST {path}/interrupt`: interrupts the request with a `key`, for a `reason`
 * - `POST {path}/interrupt-all`: the same for up to 500 `keys`; returns the `outcomes`: `interrupted`, `ended` or `unreachable`
 * - `POST {path}/level`: sets the minimum `level` of log messages sent to the client of a `session`
 * - `POST {path}/drain`: stops accepting sessions, lets requests end, then closes all sessions; `node` selects one of several nodes
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
 * // In the same program as the server, over stdio or HTTP.
 * export const withAdmin = (server: Layer.Layer<McpServer.McpServer>) => Layer.provideMerge(admin, server)
 * ```
 */
export const layer = (options: Options): Layer.Layer<never, never, McpServer | HttpRouter.HttpRouter> =>
  routes(options, Access.make(options))

/**
 * Like `layer`, but on a Unix socket, for `effect-mcp top /path/of/the.sock`. The socket file's permissions replace the token: anyone who
 * can open it may view and steer. The program does not start if other users can open the socket.
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
      // Handlers of a route only receive services that are provided here.
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
          ["GET", "recent", "see", () => Effect.flatMap(askedSince, (since) => recentOf(cluster, since))],
          ["GET", "access", "see", (right) => Effect.succeed(respond(200, { right, history: history !== undefined }))],
          ["GET", "messages", "steer", () => steer.messages],
          ["POST", "interrupt", "steer", () => steer.interrupt],
          ["POST", "interrupt-all", "steer", () => steer.interruptAll],
          ["POST", "level", "steer", () => steer.level],
          ["POST", "drain", "steer", () => steer.drain]
        ]
      for (const [method, name, right, answer] of routes) {
        yield* router.add(method, `${path}/${name}`, admit(right, answer))
      }
    })
  )
