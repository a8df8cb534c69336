/**
 * The Streamable HTTP endpoint (spec: basic/transports) for all revisions, independent of the HTTP server in front of
 * it. A 2026-07-28 POST stands alone, while older clients open a session first. The message's `_meta` decides which one
 * applies, never its method.
 *
 * Defines the order of the checks. A request that can be answered immediately needs no fiber.
 */
import { boundsOf, DeadlineQueue, Fibers, Shares } from "@effect-mcp/core/internal/inFlight"
import type { Decoded } from "@effect-mcp/core/Transport"
import * as Headers from "@effect-mcp/protocol/Headers"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Revision from "@effect-mcp/protocol/Revision"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import { McpServer } from "../dispatch/Server.ts"
import { isModern } from "../dispatch/StatelessEra.ts"
import { type HttpAnswering, observed } from "./request/HttpAnswering.ts"
import * as Admission from "./request/Admission.ts"
import * as Body from "./request/Body.ts"
import type { HttpExchange } from "./request/HttpExchange.ts"
import { type HttpRequest, sessionIdHeader } from "./request/HttpRequest.ts"
import { InFlightRequests, type RequestLimits } from "./request/InFlightRequests.ts"
import { accepted, type ErrorResponse, refuse, shuttingDown, tooMany } from "./response/Responses.ts"
import { keepAliveTimer } from "./response/SseBody.ts"
import { EventStore, makeMemory } from "../session/EventStore.ts"
import type { HttpSession } from "./session/HttpSession.ts"
import type { HttpServers } from "./request/HttpServers.ts"
import { forwarding, SessionManagers } from "./session/ManagedEndpoint.ts"
import type { SessionManager } from "./session/SessionManager.ts"
import { SessionEndpoint } from "./session/SessionEndpoint.ts"
import type { SessionResponse } from "./session/SessionResponse.ts"
import * as SessionTable from "./session/SessionTable.ts"
import * as Stateless from "./stateless/StatelessEndpoint.ts"

/**
 * Endpoint options, for any kind of HTTP server.
 *
 * @example
 * ```ts
 * import { McpServer } from "@effect-mcp/server"
 *
 * export const endpoint = McpServer.layerHttp({
 *   path: "/mcp",
 *   allowedHosts: ["mcp.example.com"],
 *   sessions: { idle: "10 minutes", perCaller: 100 },
 *   resume: { window: "1 minute" }
 * })
 * ```
 */
export interface Options extends Admission.Options, RequestLimits {
  /** How long a stream may be idle before a comment is sent. Set it to 0 to send none. Default 15 seconds. */
  readonly keepAlive?: Duration.Input | undefined
  /**
   * How long to keep serving at shutdown before the server stops listening. In the meantime, `/readyz` returns 503 and responses close
   * their connections, so that load balancers switch to other nodes. Default 0.
   */
  readonly lameDuck?: Duration.Input | undefined
  /** How long requests may keep running at shutdown, after `lameDuck`. Subscriptions end immediately. Default 10 seconds. */
  readonly drain?: Duration.Input | undefined
  /**
   * Session options for revisions up to 2025-11-25. `false` serves these revisions without sessions, handling each POST separately, for
   * example on nodes that share nothing. The server then doesn't declare subscriptions, list changes or logging, asks the client nothing,
   * and ignores `resume`. A client that disconnects interrupts its request. By default sessions are enabled, with the defaults of
   * `SessionOptions`.
   */
  readonly sessions?: SessionOptions | false | undefined
  /**
   * Resumption options (spec 2025-11-25: basic/transports, resumability and redelivery). If a connection breaks, the client may reconnect
   * to receive its events, which the `EventStore` keeps. `false` disables resumption. By default it is enabled, with the defaults of
   * `ResumeOptions`.
   */
  readonly resume?: ResumeOptions | false | undefined
}

export interface SessionOptions extends SessionTable.Options {
  /** Maximum number of concurrent requests per session. Beyond it, clients receive a 429. Default 128. */
  readonly inFlight?: number | undefined
  /** How long a request keeps running after its client has disconnected and can't come back. Default 10 seconds. */
  readonly grace?: Duration.Input | undefined
}

export interface ResumeOptions {
  /**
   * How long a client may be disconnected before its running request is interrupted, or its finished response is dropped. Default 2
   * minutes.
   */
  readonly window?: Duration.Input | undefined
  /** How soon a client that was told to disconnect should reconnect, unless the handler specifies a delay. Default 1 second. */
  readonly retry?: Duration.Input | undefined
  /** How long a request may run before its response becomes a resumable stream (2025-11-25). Default 100 milliseconds. */
  readonly streamAfter?: Duration.Input | undefined
  /** How long a connection lasts before its client is told to disconnect and reconnect (2025-11-25). By default, as long as its stream. */
  readonly lifetime?: Duration.Input | undefined
}

type Response = HttpServerResponse.HttpServerResponse
type Answer = Effect.Effect<Response>

export interface Endpoint extends HttpAnswering {
  readonly admission: Admission.Admission
  readonly exchanges: InFlightRequests
  /**
   * Gracefully ends everything that is open. If other nodes serve the same sessions, the given servers stop listening after `lameDuck`, and
   * requests that still arrive on open connections are handled. Otherwise, new requests are rejected. Calling it again does nothing.
   */
  readonly end: (listening?: HttpServers) => Effect.Effect<void>
}

const onlyPost = HttpServerResponse.empty({ status: 405, headers: { allow: "POST" } })
const notAllowed = HttpServerResponse.empty({ status: 405, headers: { allow: "GET, POST, DELETE" } })

/** How long after the server stops listening a request may still arrive on an accepted connection. */
const lateness = "1 second"

const hasSessionId = ({ headers }: HttpRequest): boolean => headers[sessionIdHeader] !== undefined

class Streamable implements Endpoint {
  readonly admission: Admission.Admission
  readonly exchanges: InFlightRequests
  private readonly stateful: SessionEndpoint
  private readonly stateless: ReturnType<typeof Stateless.make>
  private readonly server: McpServer["Service"]
  private readonly sessionless: boolean
  private readonly drain: Duration.Input
  private readonly lameDuck: Duration.Input

  constructor(
    options: Options,
    admission: Admission.Admission,
    stateful: SessionEndpoint,
    stateless: ReturnType<typeof Stateless.make>
  ) {
    const { config, exchanges, server } = stateful.options
    this.admission = admission
    this.exchanges = exchanges
    this.server = server
    this.stateful = stateful
    this.stateless = stateless
    this.sessionless = config.sessionless
    this.drain = options.drain ?? "10 seconds"
    this.lameDuck = options.lameDuck ?? 0
  }

  /** True if the client uses a stateless revision, or an unknown version. */
  private speaksModern(http: HttpRequest): boolean {
    return !hasSessionId(http) && !this.declaresStateful(http)
  }

  readonly refusal = (http: HttpRequest): ErrorResponse | undefined => {
    const refused = this.admission.caller(http)
    if (refused !== undefined || http.method !== "POST") return refused
    const malformed = this.admission.post(http)
    if (malformed !== undefined) return malformed
    // Requests in sessions pass, because a running request may wait for a message of its session.
    if (!this.exchanges.admits && !hasSessionId(http)) return shuttingDown()
    return this.exchanges.crowded ? tooMany("messages are in flight", this.exchanges.inFlight * 2) : undefined
  }

  // ---- POST

  readonly post = (http: HttpRequest, read: Body.Read, exchange: HttpExchange): Answer => {
    this.exchanges.arrived(exchange)
    const body = Body.decode(read, http, this.admission)
    return HttpServerResponse.isHttpServerResponse(body) ? Effect.succeed(body) : this.decoded(http, body, exchange)
  }

  /** True if the body is a stateless request, whichever session its headers name. */
  readonly isStateless = (http: HttpRequest, body: Decoded): boolean =>
    !this.declaresStateful(http) && body._tag === "Message" && JsonRpc.isRequest(body.message) && isModern(body.message)

  private declaresStateful({ headers }: HttpRequest): boolean {
    const version = headers[Headers.version]
    return version === undefined || Revision.get(version)?.era === "stateful"
  }

  private decoded(http: HttpRequest, body: Decoded, exchange: HttpExchange): Answer {
    const { exchanges, stateful } = this
    if (body._tag !== "Message" || !JsonRpc.isRequest(body.message)) return this.noRequest(http, body, exchange)
    const { message } = body
    const isStateless = !stateful.sessions.areServed || isModern(message) || this.speaksModern(http)
    if (isStateless && !exchanges.admits) return Effect.succeed(shuttingDown(message.id))
    const busy = exchanges.busy(exchange, message.id)
    if (busy !== undefined) return Effect.succeed(busy)
    if (isStateless) return this.stateless(message, http, exchange)
    return message.method === "initialize" && !hasSessionId(http)
      ? stateful.initialize(body, message, http, exchange)
      : stateful.post(http, body, exchange)
  }

  private noRequest(http: HttpRequest, body: Decoded, exchange: HttpExchange): Answer {
    const isSessionless = body._tag === "InvalidMessage" && !hasSessionId(http)
    // The specification does not define the headers of such a POST (2026-07-28: basic/transports/streamable-http).
    const declaresModern = body._tag === "Message" && JsonRpc.isNotification(body.message) && isModern(body.message)
    return !this.stateful.sessions.areServed ||
      isSessionless ||
      this.speaksModern(http) ||
      (declaresModern && !hasSessionId(http))
      ? Effect.succeed(this.alone(http, body))
      : this.stateful.post(http, body, exchange)
  }

  /** Handles a message that was posted without a session and isn't a request. */
  private alone(http: HttpRequest, body: Decoded): Response {
    if (body._tag === "Batch")
      return refuse(400, McpError.invalidRequest("The body must be a single message, not a batch"))
    if (body._tag === "InvalidMessage") return refuse(400, body.error, body.response ? undefined : body.id)
    const { message } = body
    if (!JsonRpc.isNotification(message)) {
      return refuse(400, McpError.invalidRequest("This revision does not allow posting responses"))
    }
    this.server.receive(message, body.envelope, { address: http.address, closing: this.exchanges.closing })
    return accepted
  }

  // ---- other methods

  readonly other = (http: HttpRequest, exchange: HttpExchange): Answer => {
    const { stateful } = this
    if (!stateful.sessions.areServed || this.sessionless || this.speaksModern(http)) return Effect.succeed(onlyPost)
    if (http.method === "DELETE") return stateful.delete(http)
    if (http.method !== "GET") return Effect.succeed(notAllowed)
    const unacceptable = this.admission.get(http)
    if (unacceptable !== undefined) return Effect.succeed(unacceptable)
    return stateful.get(http, exchange)
  }

  // ---- shutdown

  readonly end = (listening?: HttpServers): Effect.Effect<void> =>
    Effect.suspend(() => {
      const { exchanges } = this
      if (exchanges.leaving) return Effect.void
      exchanges.leaving = true
      if (listening === undefined) return this.ended(undefined)
      // If only this server has a session, answers to its questions could not arrive after it stopped listening.
      const isElsewhere =
        this.stateful.options.config.manager !== undefined || this.sessionless || !this.stateful.sessions.areServed
      const stopped = isElsewhere ? listening.stop : Effect.succeed(false)
      const ducked = Duration.isZero(Duration.fromInputUnsafe(this.lameDuck))
        ? Effect.void
        : Effect.sleep(this.lameDuck)
      return Effect.flatMap(Effect.andThen(ducked, stopped), (stopped) => this.ended(stopped ? listening : undefined))
    })

  /** Ends the endpoint. `stopped` no longer accepts new connections, but requests still arrive on its open ones. */
  private ended(stopped: HttpServers | undefined): Effect.Effect<void> {
    const { exchanges, stateful } = this
    const { options, sessions } = stateful
    const { config, table } = options
    const { manager } = config
    exchanges.close({ requests: stopped !== undefined, sessions: (stopped ?? manager) !== undefined })
    if (manager === undefined) sessions.endGetStreams()
    const settled = Effect.andThen(exchanges.settled, sessions.idle)
    const idle = manager === undefined ? settled : Effect.andThen(manager.handOver, settled)
    const closed = stopped?.closed ?? Effect.void
    const late = Effect.ensuring(
      Effect.timeoutOption(closed, lateness),
      Effect.sync(() => exchanges.expectNone())
    )
    const served = Effect.all([late, idle], { concurrency: "unbounded", discard: true })
    // The work can be interrupted but the wait can't, because in an interrupted fiber the finalizer would end here.
    return Effect.timeoutOption(Effect.interruptible(served), this.drain).pipe(
      Effect.andThen(Effect.sync(() => exchanges.stop())),
      Effect.andThen(table.endAll("The server is shutting down")),
      // The last responses may be in transit until their connections have ended.
      Effect.andThen(Effect.timeoutOption(Effect.interruptible(Effect.andThen(exchanges.silent, closed)), "1 second")),
      // A client that does not read would block the shutdown of the HTTP server.
      Effect.andThen(Effect.sync(() => exchanges.cut()))
    )
  }
}

/** Maximum bytes of events waiting for a slow store, and of messages waiting for clients to open their standalone streams. */
const maxWaitingBytes = 64 * 1024 * 1024

/** Returns the event store, or `undefined` if clients can't resume. */
const storeOf = (resume: ResumeOptions | undefined | false, shared: EventStore["Service"] | undefined) =>
  resume === false
    ? Effect.succeed(undefined)
    : Effect.map(Effect.serviceOption(EventStore), (store) => Option.getOrElse(store, () => shared ?? makeMemory()))

/** Creates an endpoint that lives as long as the scope. */
export const make = Effect.fnUntraced(function* (
  options: Options
): Effect.fn.Return<Endpoint, never, McpServer | Scope.Scope> {
  const sessionless = options.sessions === false
  const sessionOptions = options.sessions === false ? {} : (options.sessions ?? {})
  const resume = options.resume === false ? {} : (options.resume ?? {})
  const server = yield* McpServer
  const clock = yield* Clock.Clock
  const scope = yield* Scope.Scope
  const context = yield* Effect.context<never>()
  const runFork = Effect.runForkWith(context)
  const fork = (effect: Effect.Effect<void>) => Fiber.runIn(runFork(effect), scope)
  const admission = Admission.make(options, (refused) => fork(Effect.logWarning(refused)))
  const exchanges = new InFlightRequests(options, clock, fork, server.drain)
  const fibers = new Fibers()
  yield* Effect.addFinalizer(() => fibers.end)
  // Runs until the endpoint has ended, because answers from other nodes are forwarded until then.
  const passOn = (effect: Effect.Effect<void>) => {
    const fiber = runFork(effect)
    fibers.add(fiber)
    return fiber
  }
  const table = new SessionTable.SessionTable<HttpSession>(sessionOptions, clock, fork)
  const keepAlive = keepAliveTimer(options.keepAlive ?? "15 seconds", clock, fork)
  const streamAfter = Duration.toMillis(Duration.fromInputUnsafe(resume.streamAfter ?? "100 millis"))
  const nodes = sessionless ? undefined : server.nodes
  const waiting = boundsOf(maxWaitingBytes, options.callerShare ?? 0.5)
  let manager: SessionManager | undefined
  const stateful = new SessionEndpoint({
    server,
    table,
    exchanges,
    keepAlive,
    inFlight: sessionOptions.inFlight ?? 128,
    slow: new DeadlineQueue<SessionResponse>(streamAfter, clock, fork, (response) => response.streaming()),
    lifetime: resume.lifetime,
    config: {
      clock,
      context,
      runFork,
      sessionless,
      store: yield* storeOf(!sessionless && options.resume, nodes?.events),
      unwritten: new Shares(waiting),
      unread: new Shares(waiting),
      get manager() {
        return manager
      },
      window: Duration.fromInputUnsafe(resume.window ?? "2 minutes"),
      // Without sessions, only the end of its POST cancels a request.
      grace: Duration.fromInputUnsafe(sessionless ? 0 : (sessionOptions.grace ?? "10 seconds")),
      retry: Duration.fromInputUnsafe(resume.retry ?? "1 second"),
      leftBehind: (change, caller, bytes) => exchanges.leftBehind(change, caller, bytes),
      ended: (session) => table.end(session, "The session has ended")
    }
  })
  const stateless = Stateless.make({ server, fibers, context, exchanges, keepAlive })
  const { config } = stateful.options
  const own = new Streamable(options, admission, stateful, stateless)
  const managers = nodes && Context.getOrUndefined(nodes.services, SessionManagers)
  if (nodes !== undefined && managers !== undefined) {
    const { isStateless, other, post } = own
    const lent = { admission, config, exchanges, fork, keepAlive, nodes, passOn, server, table }
    manager = yield* managers.make({ ...lent, isStateless, other, post })
  }
  const { end, refusal } = own
  const endpoint = manager === undefined ? own : { admission, exchanges, refusal, end, ...forwarding(own, manager) }
  yield* server.drain.endBy(end())
  const { observer } = server
  if (observer?.refused === undefined && observer?.carried === undefined) return endpoint
  return { admission, exchanges, end, ...observed(endpoint, observer) }
})
