/**
 * The HTTP+SSE transport (spec 2024-11-05: basic/transports, HTTP with SSE), deprecated since 2025-03-26, for clients that support nothing
 * newer. A GET opens a session and carries all server messages. The client POSTs its messages to the URI in the first event, `endpoint`.
 * Any revision with a handshake can be negotiated.
 *
 * Owns the sessions. Each one lives as long as its GET, and only the principal that opened it may post to it. The endpoint sits next to
 * your own routes; your router middleware applies, and may provide a `Principal`. Stateless requests are rejected, because they have their
 * own transport.
 */
import { boundsOf, Shares } from "@effect-mcp/core/internal/inFlight"
import type * as Outbox from "@effect-mcp/core/Outbox"
import * as Principal from "@effect-mcp/core/Principal"
import { type Decoded, TransportError } from "@effect-mcp/core/Transport"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import * as Revision from "@effect-mcp/protocol/Revision"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as HttpRouter from "effect/http/HttpRouter"
import { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import type * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { McpServer } from "../../dispatch/Server.ts"
import { isModern } from "../../dispatch/StatelessEra.ts"
import { metaOf } from "../../request/RequestServices.ts"
import type { Session } from "../../session/Session.ts"
import * as Admission from "../request/Admission.ts"
import * as Body from "../request/Body.ts"
import * as Cors from "../request/Cors.ts"
import type { ArrivingBodies } from "../../internal/ArrivingBodies.ts"
import { defaultAnswerBytes, defaultBodyBytes } from "../request/InFlightRequests.ts"
import { onShutdown } from "../request/Shutdown.ts"
import { EventStream } from "../response/EventStream.ts"
import * as NodeResponseWriter from "../response/NodeResponseWriter.ts"
import { type ErrorResponse, noSession, refuse, shuttingDown, tooMany } from "../response/Responses.ts"
import { type KeepAliveTimer, keepAliveTimer } from "../response/SseBody.ts"
import { sseResponse } from "../response/SseResponse.ts"
import { type HeldBytes, holding } from "./HeldBytes.ts"
import * as SseOutbox from "./SseOutbox.ts"

export { serve } from "../request/Shutdown.ts"

export interface Options extends Admission.Options, Outbox.Options {
  /** Number of bytes that may wait for one session before its handlers are suspended. Default 128 KiB. */
  readonly highWater?: number | undefined
  /** Number of response bytes that may wait for one session before it is cut off. Default 16 MiB. */
  readonly controlCap?: number | undefined
  /** Path of the event stream. */
  readonly path: HttpRouter.PathInput
  /** Path that clients post messages to. Default `/messages`. */
  readonly messages?: HttpRouter.PathInput | undefined
  /** Maximum number of open sessions. Beyond it, clients receive a 429. Default 1024. */
  readonly sessions?: number | undefined
  /**
   * Share of `sessions`, `bodyBytes` and `answerBytes` that one caller (a principal, or else an address) may use, from 0 to 1. Default 0.5.
   */
  readonly callerShare?: number | undefined
  /** Maximum number of message bodies being received at once. Beyond it, a slow one is cut off. Default 1024. */
  readonly inFlight?: number | undefined
  /** Maximum total bytes of message bodies being received. Beyond it, a slow body of the heaviest caller is cut off. Default 128 MiB. */
  readonly bodyBytes?: number | undefined
  /**
   * Maximum total bytes of messages waiting for clients to read them. Beyond it, the heaviest caller loses its oldest session with unread
   * messages, unless it has only one. `Infinity` disables the limit. Default 256 MiB.
   */
  readonly answerBytes?: number | undefined
  /** How long a stream may be idle before a comment is sent. Set it to 0 to send none. Default 15 seconds. */
  readonly keepAlive?: Duration.Input | undefined
  /** How long requests may keep running at shutdown. Sessions without requests end immediately. Default 10 seconds. */
  readonly drain?: Duration.Input | undefined
  /** Whether to allow cross-origin requests from `allowedOrigins`. Default false. */
  readonly cors?: Cors.Options | boolean | undefined
}

type Response = HttpServerResponse.HttpServerResponse
type Handle = (http: HttpServerRequest) => Effect.Effect<Response, never, Scope.Scope>

interface Client {
  readonly principal: Principal.Principal["Service"]
  readonly address: string | undefined
  /** The principal, or else the address. Empty if neither is known. */
  readonly caller: string
}

/** One GET and its session. */
interface Connected extends Pick<Client, "principal" | "caller"> {
  /** Completes when the session is open. */
  readonly session: Deferred.Deferred<Session>
  /** Fiber that runs the session and ends with it. */
  readonly fiber: Fiber.Fiber<void>
  /** Completes when the response has been written or cut off. */
  readonly over: Deferred.Deferred<void>
  /** Cuts the response off. */
  readonly cut: () => void
}

/** Adds both endpoints to the router. Serve the app with this module's `serve`; otherwise open streams delay shutdown. */
export const layer = (options: Options): Layer.Layer<never, never, McpServer | HttpRouter.HttpRouter> =>
  HttpRouter.use((router) =>
    Effect.flatMap(make(options), ({ open, receive }) =>
      Effect.andThen(router.add("*", options.path, open), router.add("*", options.messages ?? defaultMessages, receive))
    )
  )

const defaultMessages = "/messages"

/** How long a body may take to arrive. */
const bodyTimeout = "30 seconds"
const late = refuse(408, McpError.invalidRequest("The body did not arrive in time"))
const accepted = HttpServerResponse.text("Accepted", { status: 202 })

const principalOf = (context: Context.Context<never>): Principal.Principal["Service"] =>
  Option.getOrElse(Context.getOption(context, Principal.Principal), () => Principal.anonymous)

const callerOf = (http: HttpServerRequest, principal: Principal.Principal["Service"]): string =>
  Principal.callerKey(principal, Option.getOrUndefined(http.remoteAddress)) ?? ""

const notAllowed = (allow: string): ErrorResponse => HttpServerResponse.empty({ status: 405, headers: { allow } })

const urlOf = ({ originalUrl }: HttpServerRequest): URL => new URL(originalUrl, "http://localhost")

/** Returns an error for a stateless request that lists the supported revisions. */
const refuseModern = (inbound: Decoded): JsonRpc.Failure | undefined => {
  if (inbound._tag !== "Message" || !JsonRpc.isRequest(inbound.message) || !isModern(inbound.message)) return undefined
  const supported = Revision.stateful.map(({ version }) => version).toReversed()
  const version = String(metaOf(inbound.message)[Meta.protocolVersion])
  return JsonRpc.failure(inbound.message.id, McpError.unsupportedProtocolVersion(supported, version))
}

/** State shared by both endpoints. */
interface Shared {
  readonly options: Options
  readonly server: McpServer["Service"]
  readonly admission: Admission.Admission
  readonly keepAlive: KeepAliveTimer
  /** Runs an effect in the layer's scope. */
  readonly fork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>
}

class SseSessions {
  private readonly shared: Shared
  private readonly read: ReturnType<typeof Body.reader>
  /** Sessions that accept messages, by ID. */
  private readonly sessions = new Map<string, Connected>()
  /** Sessions whose fiber has not ended, including those still running finalizers. */
  private readonly alive: Shares
  /** Messages whose bodies are being received. */
  private readonly reading: ArrivingBodies<HeldBytes>
  /** Sessions whose clients have not read everything. */
  private readonly unread: ArrivingBodies<HeldBytes>
  /** True once shutdown has begun. */
  private draining = false

  constructor(shared: Shared) {
    this.shared = shared
    this.read = Body.reader(shared.admission)
    const { callerShare = 0.5, inFlight = 1024, sessions = 1024 } = shared.options
    const { answerBytes = defaultAnswerBytes, bodyBytes = defaultBodyBytes } = shared.options
    this.alive = new Shares(boundsOf(sessions, callerShare))
    this.reading = holding(inFlight, boundsOf(bodyBytes, callerShare))
    this.unread = holding(Infinity, boundsOf(answerBytes, callerShare), true)
  }

  // ---- GET

  readonly open = Effect.fnUntraced(function* (
    this: SseSessions,
    http: HttpServerRequest
  ): Effect.fn.Return<Response, never, Scope.Scope> {
    const context = yield* Effect.context<never>()
    const principal = principalOf(context)
    const address = Option.getOrUndefined(http.remoteAddress)
    const caller = callerOf(http, principal)
    const refused = this.refusal(http, caller)
    if (refused !== undefined) return refused
    const id = globalThis.crypto.randomUUID()
    // The app may be mounted under a prefix.
    const { pathname } = urlOf(http)
    const { messages = defaultMessages, path } = this.shared.options
    const mount = pathname.endsWith(path) ? pathname.slice(0, -path.length) : ""
    // The stream is full from its first byte on, so `ready` waits until everything was written.
    const stream = new EventStream(1)
    stream.event("endpoint", `${mount}${messages}?sessionId=${id}`)
    const connected = this.connect(id, stream, { principal, caller, address }, Fiber.getCurrent())
    // The scope of an HTTP request closes with its response, whether it was written or cut off by the client.
    yield* Effect.addFinalizer(() => Effect.sync(() => this.hungUp(id, stream, connected)))
    // Waits for the session, because the client posts as soon as it has the endpoint event.
    yield* Deferred.await(connected.session)
    return NodeResponseWriter.answer(http, context, sseResponse(stream.attach(), this.shared.keepAlive))
  })

  private refusal(http: HttpServerRequest, caller: string): Response | undefined {
    const { admission } = this.shared
    const foreign = admission.caller(http)
    if (foreign !== undefined) return foreign
    if (http.method !== "GET") return notAllowed("GET")
    const refused = admission.get(http)
    if (refused !== undefined) return refused
    if (this.draining || this.shared.server.drain.isDraining) return shuttingDown()
    const exceeded = this.alive.exceededBy(caller, 1)
    if (exceeded === undefined) return undefined
    const whose = exceeded === "total" ? "" : " from this caller"
    return tooMany(`sessions${whose} are open`, this.alive.bounds[exceeded])
  }

  /** Runs the session in a separate fiber. */
  private connect(
    id: string,
    stream: EventStream,
    client: Client,
    response: Fiber.Fiber<unknown, unknown> | undefined
  ): Connected & { readonly gone: Deferred.Deferred<never, TransportError> } {
    const session = Deferred.makeUnsafe<Session>()
    const gone = Deferred.makeUnsafe<never, TransportError>()
    const cut = () => response?.interruptUnsafe()
    const { caller, principal } = client
    this.alive.add(caller, 1)
    const fiber = this.shared.fork(
      this.converse(id, stream, client, session, Deferred.await(gone)).pipe(
        // A client that broke the connection would not read a proper end.
        Effect.tapError(() => Effect.sync(cut)),
        Effect.ensuring(Effect.sync(() => this.sessions.delete(id))),
        Effect.scoped,
        Effect.ignore,
        Effect.ensuring(Effect.sync(() => this.alive.add(caller, -1)))
      )
    )
    const connected = { principal, caller, session, fiber, over: Deferred.makeUnsafe<void>(), cut, gone }
    this.sessions.set(id, connected)
    return connected
  }

  /** Serves one client until it hangs up or the session ends. */
  private readonly converse = Effect.fnUntraced(function* (
    this: SseSessions,
    id: string,
    stream: EventStream,
    { address, caller, principal }: Client,
    opened: Deferred.Deferred<Session>,
    gone: Effect.Effect<never, TransportError>
  ): Effect.fn.Return<void, TransportError, Scope.Scope> {
    const { options, server } = this.shared
    const { broken, sink } = yield* SseOutbox.make(stream, caller, this.unread, options)
    const transport = { incoming: Stream.never, sink, broken: Effect.raceFirst(broken, gone) }
    const session = yield* server.connect(transport, { id, principal, address, kind: "sse" })
    Deferred.doneUnsafe(opened, Effect.succeed(session))
    yield* session.peer.awaitClosed
  })

  private hungUp(id: string, stream: EventStream, { gone, over }: ReturnType<SseSessions["connect"]>): void {
    this.sessions.delete(id)
    stream.end()
    Deferred.doneUnsafe(over, Effect.void)
    Deferred.doneUnsafe(
      gone,
      Effect.fail(new TransportError({ reason: "Read", message: "The client has disconnected" }))
    )
  }

  // ---- POST

  readonly receive = Effect.fnUntraced(function* (
    this: SseSessions,
    http: HttpServerRequest
  ): Effect.fn.Return<Response> {
    const { admission } = this.shared
    const foreign = admission.caller(http)
    if (foreign !== undefined) return foreign
    if (http.method !== "POST") return notAllowed("POST")
    const refused = admission.post(http, false)
    if (refused !== undefined) {
      Body.discardUnread(http)
      return refused
    }
    const id = urlOf(http).searchParams.get("sessionId") ?? ""
    const connected = this.sessions.get(id)
    const principal = principalOf(yield* Effect.context<never>())
    // Another principal must not find out whether such a session exists.
    if (connected === undefined || Principal.callerKey(connected.principal) !== Principal.callerKey(principal)) {
      return noSession()
    }
    const fiber = Fiber.getCurrent()
    const body: HeldBytes = { caller: callerOf(http, principal), bytes: 0, cut: () => fiber?.interruptUnsafe() }
    this.reading.enter(body)
    return yield* this.deliver(http, id, connected, principal, body).pipe(
      Effect.match({ onFailure: (refusal) => refusal, onSuccess: (answer) => answer }),
      Effect.ensuring(Effect.sync(() => this.reading.leave(body)))
    )
  })

  private readonly deliver = Effect.fnUntraced(function* (
    this: SseSessions,
    http: HttpServerRequest,
    id: string,
    connected: Connected,
    principal: Connected["principal"],
    reading: HeldBytes
  ): Effect.fn.Return<Response, ErrorResponse> {
    const session = yield* Deferred.await(connected.session)
    const received = (length: number): boolean => this.reading.received(reading, length)
    const body = yield* Effect.timeoutOrElse(this.read(http, Effect.succeed, received), {
      duration: bodyTimeout,
      orElse: () => Effect.fail(late)
    })
    this.reading.leave(reading)
    const { headers, method, originalUrl } = http
    const address = Option.getOrUndefined(http.remoteAddress)
    const envelope = { headers, method, originalUrl, principal, address }
    const inbound = Body.decode(body, envelope, this.shared.admission)
    if (HttpServerResponse.isHttpServerResponse(inbound)) return inbound
    if (this.sessions.get(id) !== connected) return noSession()
    const failure = refuseModern(inbound)
    if (failure === undefined) session.peer.receive(inbound)
    else session.peer.sink.send(failure, "control")
    if (inbound._tag !== "InvalidMessage") return accepted
    // The client waits for an answer on the stream, and sees this status as well.
    return refuse(400, inbound.error, inbound.response ? undefined : inbound.id)
  })

  // ---- shutdown

  readonly end: Effect.Effect<void> = Effect.suspend(() => {
    this.draining = true
    return Effect.forEach(this.sessions.values(), (connected) => this.endOne(connected), {
      concurrency: "unbounded",
      discard: true
    })
  })

  /** Lets a session's requests finish, then ends the session and its response, even if the client isn't reading. */
  private endOne(connected: Connected): Effect.Effect<void> {
    const isOver = Effect.andThen(Fiber.await(connected.fiber), Deferred.await(connected.over))
    return Deferred.await(connected.session).pipe(
      Effect.flatMap((session) => session.drain(this.shared.options.drain ?? "10 seconds")),
      Effect.andThen(Effect.sync(() => connected.fiber.interruptUnsafe())),
      Effect.andThen(Effect.timeoutOption(isOver, "2 seconds")),
      Effect.andThen(Effect.sync(connected.cut)),
      Effect.andThen(Effect.timeoutOption(Deferred.await(connected.over), "1 second")),
      Effect.interruptible,
      Effect.asVoid
    )
  }
}

const make = Effect.fnUntraced(function* (
  options: Options
): Effect.fn.Return<{ readonly open: Handle; readonly receive: Handle }, never, McpServer | Scope.Scope> {
  const scope = yield* Scope.Scope
  const server = yield* McpServer
  const runFork = Effect.runForkWith(yield* Effect.context<never>())
  const fork = (effect: Effect.Effect<void>) => Fiber.runIn(runFork(effect), scope)
  const sessions = new SseSessions({
    options,
    server,
    admission: Admission.make(options, (refused) => void runFork(Effect.logWarning(refused))),
    keepAlive: keepAliveTimer(options.keepAlive ?? "15 seconds", yield* Clock.Clock, fork),
    fork
  })
  yield* onShutdown(sessions.end)
  yield* server.drain.endBy(sessions.end)
  const open: Handle = (http) => sessions.open(http)
  const receive: Handle = (http) => sessions.receive(http)
  const { cors = false } = options
  if (cors === false) return { open, receive }
  const shared = Cors.cors(cors === true ? {} : cors, options)
  const within =
    (handle: Handle): Handle =>
    (http) =>
      Effect.provideService(shared(handle(http)), HttpServerRequest, http)
  return { open: within(open), receive: within(receive) }
})
