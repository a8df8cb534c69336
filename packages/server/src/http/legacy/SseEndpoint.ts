/**
 * HTTP with server-sent events (spec 2024-11-05: basic/transports, HTTP with SSE), deprecated since 2025-03-26, for clients that support
 * nothing newer. A GET opens a session and carries all messages of the server; the client POSTs its messages to the URI of the first
 * event, `endpoint`. Any revision with a handshake may be negotiated.
 *
 * Owns the sessions: each lives as long as its GET, and only the principal that opened it may post to it. Mounts beside the user's own
 * routes, whose middleware applies and may provide a `Principal`. Refuses the stateless era, which has a transport of its own.
 */
import { boundsOf, Shares } from "@effect-mcp/core/internal/Shares"
import * as Outbox from "@effect-mcp/core/Outbox"
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
import { ArrivingBodies, type ArrivingBody } from "../request/ArrivingBodies.ts"
import { defaultBodyBytes } from "../request/InFlightRequests.ts"
import { onShutdown } from "../request/Shutdown.ts"
import { EventStream } from "../response/EventStream.ts"
import * as NodeResponseWriter from "../response/NodeResponseWriter.ts"
import { type ErrorResponse, noSession, refuse, shuttingDown, tooMany } from "../response/Responses.ts"
import { type KeepAliveTimer, keepAliveTimer } from "../response/SseBody.ts"
import { sseResponse } from "../response/SseResponse.ts"

export { serve } from "../request/Shutdown.ts"

/** Much less than for one wire, as there are many sessions: of bytes that wait long the garbage is collected late. */
const defaultHighWater = 128 * 1024
const defaultControlCap = 16 * 1024 * 1024

export interface Options extends Admission.Options, Outbox.Options {
  /** Bytes that wait for one session before its handlers do. Default 128 KiB. */
  readonly highWater?: number | undefined
  /** Bytes of answers that wait for one session before it is cut off. Default 16 MiB. */
  readonly controlCap?: number | undefined
  /** The path of the stream. */
  readonly path: HttpRouter.PathInput
  /** The path that messages are posted to. Default `/messages`. */
  readonly messages?: HttpRouter.PathInput | undefined
  /** Sessions that are open at once. Default 1024; one more is answered by 429. */
  readonly sessions?: number | undefined
  /** How much of `sessions` and `bodyBytes` one caller may take, from 0 to 1: a principal, or else an address. Default 0.5. */
  readonly callerShare?: number | undefined
  /** Messages whose bodies may arrive at once. Default 1024; for one more, a slow one is cut off. */
  readonly inFlight?: number | undefined
  /** Bytes of bodies that are arriving. Default 128 MiB; for more, a slow one of the caller that holds the most is cut off. */
  readonly bodyBytes?: number | undefined
  /** How long a stream may be silent before a comment is sent; 0: no comments. Default 15 seconds. */
  readonly keepAlive?: Duration.Input | undefined
  /** At shutdown: how long requests may still run. Default 10 seconds. Sessions without requests end at once. */
  readonly drain?: Duration.Input | undefined
  /** Allows pages of other sites, if they are among `allowedOrigins`. Default false. */
  readonly cors?: Cors.Options | boolean | undefined
}

type Response = HttpServerResponse.HttpServerResponse
type Handle = (http: HttpServerRequest) => Effect.Effect<Response, never, Scope.Scope>

interface Client {
  readonly principal: Principal.Principal["Service"]
  readonly address: string | undefined
  /** The principal, or else the address; empty where neither is known. */
  readonly caller: string
}

/** One GET, and the session on it. */
interface Connected extends Pick<Client, "principal" | "caller"> {
  /** Completes when the conversation is open. */
  readonly session: Deferred.Deferred<Session>
  /** Runs the conversation; its end is that of the session. */
  readonly fiber: Fiber.Fiber<void>
  /** Completes when the response was written or cut off. */
  readonly over: Deferred.Deferred<void>
  /** Cuts the response off. */
  readonly cut: () => void
}

/** A message whose body is arriving. */
interface Reading extends ArrivingBody {
  readonly cut: () => void
}

/**
 * Adds both endpoints to the router. Serve the app with `serve` of this module: otherwise open streams hold up the shutdown.
 */
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

/** The error for a request of the stateless era: it names the revisions that are served. */
const refuseModern = (inbound: Decoded): JsonRpc.Failure | undefined => {
  if (inbound._tag !== "Message" || !JsonRpc.isRequest(inbound.message) || !isModern(inbound.message)) return undefined
  const supported = Revision.stateful.map(({ version }) => version).toReversed()
  const version = String(metaOf(inbound.message)[Meta.protocolVersion])
  return JsonRpc.failure(inbound.message.id, McpError.unsupportedProtocolVersion(supported, version))
}

/** Writes what an outbox has, a turn at a time: its bytes are free once the wire asks for more, so it counts a slow reader. */
const writerOf =
  (stream: EventStream) =>
  (outgoing: Stream.Stream<string>): Effect.Effect<void> =>
    Effect.ensuring(
      Stream.runForEach(outgoing, (lines) =>
        Effect.suspend(() => {
          for (const line of lines.split("\n")) if (line !== "") stream.event("message", line)
          return stream.ready
        })
      ),
      Effect.sync(() => stream.end())
    )

/** What the two endpoints share. */
interface Shared {
  readonly options: Options
  readonly server: McpServer["Service"]
  readonly admission: Admission.Admission
  readonly keepAlive: KeepAliveTimer
  /** Runs an effect in the scope of the layer. */
  readonly fork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>
}

class SseSessions {
  private readonly shared: Shared
  private readonly read: ReturnType<typeof Body.reader>
  /** The sessions that can be posted to, by id. */
  private readonly sessions = new Map<string, Connected>()
  /** Sessions whose fiber has not ended: also those that run their last finalizers. */
  private readonly alive: Shares
  /** Messages whose bodies are arriving. */
  private readonly reading: ArrivingBodies<Reading>
  /** Whether the shutdown has begun; never false again. */
  private draining = false

  constructor(shared: Shared) {
    this.shared = shared
    this.read = Body.reader(shared.admission)
    const { bodyBytes = defaultBodyBytes, callerShare = 0.5, inFlight = 1024, sessions = 1024 } = shared.options
    this.alive = new Shares(boundsOf(sessions, callerShare))
    this.reading = new ArrivingBodies(inFlight, boundsOf(bodyBytes, callerShare), (slow) => {
      this.reading.leave(slow)
      slow.cut()
    })
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
    // Of a stream that is full from its first byte on, `ready` waits until all was written.
    const stream = new EventStream(1)
    stream.event("endpoint", `${mount}${messages}?sessionId=${id}`)
    const connected = this.connect(id, stream, { principal, caller, address }, Fiber.getCurrent())
    // The scope of an HTTP request ends with its response: written, or cut off by the client.
    yield* Effect.addFinalizer(() => Effect.sync(() => this.hungUp(id, stream, connected)))
    // Not before the session exists: the client posts as soon as it has the endpoint event.
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
    const whose = exceeded === "total" ? "" : " of this caller"
    return tooMany(`sessions${whose} are open`, this.alive.bounds[exceeded])
  }

  /** Begins the conversation in a fiber of its own. */
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
        // A client that made the wire break does not read a proper end.
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

  /** The conversation with one client, until it hangs up or the session is ended. */
  private readonly converse = Effect.fnUntraced(function* (
    this: SseSessions,
    id: string,
    stream: EventStream,
    { address, principal }: Client,
    opened: Deferred.Deferred<Session>,
    gone: Effect.Effect<never, TransportError>
  ): Effect.fn.Return<void, TransportError, Scope.Scope> {
    const { options, server } = this.shared
    const { broken, sink } = yield* Outbox.make(writerOf(stream), {
      ...options,
      highWater: options.highWater ?? defaultHighWater,
      controlCap: options.controlCap ?? defaultControlCap
    })
    const transport = { incoming: Stream.never, sink, broken: Effect.raceFirst(broken, gone) }
    const session = yield* server.connect(transport, { id, principal, address, kind: "sse" })
    Deferred.doneUnsafe(opened, Effect.succeed(session))
    yield* session.peer.awaitClosed
  })

  private hungUp(id: string, stream: EventStream, { gone, over }: ReturnType<SseSessions["connect"]>): void {
    this.sessions.delete(id)
    stream.end()
    Deferred.doneUnsafe(over, Effect.void)
    Deferred.doneUnsafe(gone, Effect.fail(new TransportError({ reason: "Read", message: "The client is gone" })))
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
    // Another principal does not learn whether there is such a session.
    if (connected === undefined || Principal.callerKey(connected.principal) !== Principal.callerKey(principal)) {
      return noSession()
    }
    const fiber = Fiber.getCurrent()
    const body: Reading = { caller: callerOf(http, principal), bytes: 0, cut: () => fiber?.interruptUnsafe() }
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
    reading: Reading
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
    // The client waits for an answer on the stream, and sees this status besides.
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

  /** Lets the requests of a session finish, then ends it and its response, even if the client does not read. */
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
