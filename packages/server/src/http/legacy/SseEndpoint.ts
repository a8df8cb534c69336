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
import { type Decoded, type Lane, type Sink, type Transport, TransportError } from "@effect-mcp/core/Transport"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import * as Revision from "@effect-mcp/protocol/Revision"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import type * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { McpServer } from "../../dispatch/Server.ts"
import { isModern } from "../../dispatch/StatelessEra.ts"
import { metaOf } from "../../request/RequestServices.ts"
import type { Session } from "../../session/Session.ts"
import type { HttpAnswering } from "../request/HttpAnswering.ts"
import * as Admission from "../request/Admission.ts"
import * as Body from "../request/Body.ts"
import type { HttpExchange } from "../request/HttpExchange.ts"
import { callerOf, type HttpRequest, ownerOf, principalOf } from "../request/HttpRequest.ts"
import { InFlightRequests } from "../request/InFlightRequests.ts"
import { onShutdown } from "../request/Shutdown.ts"
import { EventStream } from "../response/EventStream.ts"
import { type ErrorResponse, noSession, refuse, shuttingDown, tooMany } from "../response/Responses.ts"
import { type KeepAliveTimer, keepAliveTimer, sseResponse } from "../response/SseBody.ts"
import * as RouterHandler from "../request/RouterHandler.ts"

export { serve } from "../request/Shutdown.ts"

export interface Options extends Admission.Options, RouterHandler.Options {
  /** Number of bytes that may wait for one session before its handlers are suspended. Default 128 KiB. */
  readonly highWater?: number | undefined
  /** Number of bytes that may wait for one session before a further response cuts it off. Default 16 MiB. */
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
}

/** Adds both endpoints to the router. Serve the app with this module's `serve`; otherwise open streams delay shutdown. */
export const layer = (options: Options): Layer.Layer<never, never, McpServer | HttpRouter.HttpRouter> =>
  HttpRouter.use((router) =>
    Effect.flatMap(make(options), ({ open, receive }) =>
      Effect.andThen(router.add("*", options.path, open), router.add("*", options.messages ?? defaultMessages, receive))
    )
  )

const defaultMessages = "/messages"
/**
 * Much less than for a single connection, because there are many sessions, and bytes that wait for a long time are garbage-collected late.
 */
const defaultHighWater = 128 * 1024
const defaultControlCap = 16 * 1024 * 1024

type Answer = ReturnType<HttpAnswering["other"]>

const accepted = HttpServerResponse.text("Accepted", { status: 202 })
const disconnected = new TransportError({ reason: "Read", message: "The client has disconnected" })
const flooded = new TransportError({
  reason: "Overflow",
  message: "Too many messages are waiting to be read by clients"
})

const notAllowed = (allow: string): ErrorResponse => HttpServerResponse.empty({ status: 405, headers: { allow } })

const urlOf = ({ originalUrl }: HttpRequest): URL => new URL(originalUrl, "http://localhost")

/** Returns an error for a stateless request that lists the supported revisions. */
const refuseModern = (inbound: Decoded): JsonRpc.Failure | undefined => {
  if (inbound._tag !== "Message" || !JsonRpc.isRequest(inbound.message) || !isModern(inbound.message)) return undefined
  const supported = Revision.stateful.map(({ version }) => version).toReversed()
  const version = String(metaOf(inbound.message)[Meta.protocolVersion])
  return JsonRpc.failure(inbound.message.id, McpError.unsupportedProtocolVersion(supported, version))
}

/** A session, which sends its messages as the events of its GET. */
class SseSession implements Sink {
  readonly id = globalThis.crypto.randomUUID()
  /** The principal that opened it. Empty if anonymous. */
  readonly owner: string
  readonly stream: EventStream
  /** The protocol session, once it is open. */
  readonly opened = Deferred.makeUnsafe<Session>()
  private readonly broken = Deferred.makeUnsafe<never, TransportError>()
  private readonly controlCap: number

  constructor(owner: string, { controlCap = defaultControlCap, highWater = defaultHighWater }: Options) {
    this.owner = owner
    this.controlCap = controlCap
    this.stream = new EventStream(highWater)
  }

  /** POSTs bring the messages, so the transport has none. */
  get transport(): Transport {
    return { incoming: Stream.never, sink: this, broken: Deferred.await(this.broken) }
  }

  writable(): boolean {
    return this.stream.writable()
  }

  get ready(): Effect.Effect<void> {
    return this.stream.ready
  }

  backlog(): number {
    return this.stream.backlog
  }

  send(message: JsonRpc.Message | ReadonlyArray<JsonRpc.Message>, lane: Lane): void {
    const isFirst = this.stream.backlog === 0
    const text = JsonRpc.isBatch(message) ? `[${message.map(JsonRpc.encode).join(",")}]` : JsonRpc.encode(message)
    this.stream.event("message", text)
    if (lane === "control" && !isFirst && this.stream.backlog > this.controlCap) this.break(flooded)
  }

  /** Ends the session because its client can't be reached anymore. */
  break(error: TransportError): void {
    Deferred.doneUnsafe(this.broken, Effect.fail(error))
  }
}

/** State shared by both endpoints. */
interface Shared {
  readonly options: Options
  readonly server: McpServer["Service"]
  readonly admission: Admission.Admission
  readonly exchanges: InFlightRequests
  readonly keepAlive: KeepAliveTimer
  /** Runs an effect in the layer's scope. */
  readonly fork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>
}

class SseSessions {
  private readonly shared: Shared
  /** Sessions that accept messages, by ID, with the fibers that run them. */
  private readonly sessions = new Map<string, { readonly session: SseSession; readonly fiber: Fiber.Fiber<void> }>()
  /** Sessions whose fiber has not ended, including those still running finalizers. */
  private readonly alive: Shares

  constructor(shared: Shared) {
    this.shared = shared
    const { callerShare = 0.5, sessions = 1024 } = shared.options
    this.alive = new Shares(boundsOf(sessions, callerShare))
  }

  // ---- GET

  /** The endpoint that opens sessions. */
  readonly streams: HttpAnswering = {
    refusal: (http) => {
      const { admission, exchanges } = this.shared
      const foreign = admission.caller(http)
      if (foreign !== undefined) return foreign
      if (http.method !== "GET") return notAllowed("GET")
      const refused = admission.get(http)
      if (refused !== undefined) return refused
      if (!exchanges.admits) return shuttingDown()
      const exceeded = this.alive.exceededBy(callerOf(http), 1)
      if (exceeded === undefined) return undefined
      const whose = exceeded === "total" ? "" : " from this caller"
      return tooMany(`sessions${whose} are open`, this.alive.bounds[exceeded])
    },
    post: () => Effect.succeed(notAllowed("GET")),
    other: (http, exchange) => {
      const { keepAlive, options } = this.shared
      const session = new SseSession(ownerOf(http), options)
      // The app may be mounted under a prefix.
      const { pathname } = urlOf(http)
      const mount = pathname.endsWith(options.path) ? pathname.slice(0, -options.path.length) : ""
      session.stream.event("endpoint", `${mount}${options.messages ?? defaultMessages}?sessionId=${session.id}`)
      this.run(session, http, exchange)
      // Waits for the session, because the client posts as soon as it has the endpoint event.
      return Effect.map(Deferred.await(session.opened), () => sseResponse(session.stream.attach(), keepAlive))
    }
  }

  /** Runs the session in a separate fiber, until it ends or its client hangs up. */
  private run(session: SseSession, http: HttpRequest, exchange: HttpExchange): void {
    const { fork, server } = this.shared
    const { caller } = exchange
    const connected = server.connect(session.transport, {
      id: session.id,
      principal: principalOf(http),
      address: http.address,
      kind: "sse"
    })
    const conversation = Effect.flatMap(connected, (opened) => {
      Deferred.doneUnsafe(session.opened, Effect.succeed(opened))
      return opened.peer.awaitClosed
    })
    const left = (): void => {
      this.sessions.delete(session.id)
      session.stream.discard()
      session.break(disconnected)
    }
    exchange.left = left
    this.alive.add(caller, 1)
    const fiber = fork(
      conversation.pipe(
        // A client that broke the connection would not read a proper end.
        Effect.tapError(() => Effect.sync(() => exchange.cut())),
        Effect.ensuring(Effect.sync(() => this.sessions.delete(session.id))),
        Effect.scoped,
        Effect.ignore,
        Effect.ensuring(
          Effect.sync(() => {
            session.stream.end()
            this.alive.add(caller, -1)
          })
        )
      )
    )
    this.sessions.set(session.id, { session, fiber })
  }

  // ---- POST

  /** The endpoint that receives the sessions' messages. */
  readonly messages: HttpAnswering = {
    refusal: (http) => {
      const { admission } = this.shared
      const foreign = admission.caller(http)
      if (foreign !== undefined) return foreign
      if (http.method !== "POST") return notAllowed("POST")
      return admission.post(http, false) ?? (this.find(http) === undefined ? noSession() : undefined)
    },
    other: () => Effect.succeed(notAllowed("POST")),
    post: (http, read, exchange) => {
      const { admission, exchanges } = this.shared
      exchanges.arrived(exchange)
      const inbound = Body.decode(read, http, admission)
      if (HttpServerResponse.isHttpServerResponse(inbound)) return Effect.succeed(inbound)
      const session = this.find(http)
      return session === undefined ? Effect.succeed(noSession()) : this.deliver(session, inbound)
    }
  }

  /** Returns the session that the request names. To another principal, it doesn't exist. */
  private find(http: HttpRequest): SseSession | undefined {
    const found = this.sessions.get(urlOf(http).searchParams.get("sessionId") ?? "")?.session
    return found?.owner === ownerOf(http) ? found : undefined
  }

  private deliver(session: SseSession, inbound: Decoded): Answer {
    return Effect.map(Deferred.await(session.opened), ({ peer }) => {
      const failure = refuseModern(inbound)
      if (failure === undefined) peer.receive(inbound)
      else session.send(failure, "control")
      if (inbound._tag !== "InvalidMessage") return accepted
      // The client waits for an answer on the stream, and sees this status as well.
      return refuse(400, inbound.error, inbound.response ? undefined : inbound.id)
    })
  }

  // ---- shutdown

  /** Lets the sessions' requests finish, then ends the sessions and their responses, even if clients aren't reading. */
  readonly end: Effect.Effect<void> = Effect.suspend(() => {
    const { exchanges, options } = this.shared
    const { drain = "10 seconds" } = options
    exchanges.close({ requests: false, sessions: true })
    const ended = Effect.forEach(
      this.sessions.values(),
      ({ fiber, session }) =>
        Effect.flatMap(Deferred.await(session.opened), (opened) => opened.drain(drain)).pipe(
          Effect.andThen(Effect.sync(() => fiber.interruptUnsafe())),
          Effect.andThen(Effect.timeoutOption(Fiber.await(fiber), "2 seconds"))
        ),
      { concurrency: "unbounded", discard: true }
    )
    return ended.pipe(
      Effect.andThen(Effect.sync(() => exchanges.stop())),
      Effect.andThen(Effect.timeoutOption(exchanges.silent, "2 seconds")),
      Effect.andThen(Effect.sync(() => exchanges.cut())),
      Effect.andThen(Effect.timeoutOption(exchanges.silent, "1 second")),
      Effect.interruptible,
      Effect.asVoid
    )
  })
}

const make = Effect.fnUntraced(function* (
  options: Options
): Effect.fn.Return<
  { readonly open: RouterHandler.RouterHandler; readonly receive: RouterHandler.RouterHandler },
  never,
  McpServer | Scope.Scope
> {
  const scope = yield* Effect.scope
  const server = yield* McpServer
  const clock = yield* Clock.Clock
  const runFork = Effect.runForkWith(yield* Effect.context<never>())
  const fork = (effect: Effect.Effect<void>) => Fiber.runIn(runFork(effect), scope)
  const admission = Admission.make(options, (refused) => void runFork(Effect.logWarning(refused)))
  const exchanges = new InFlightRequests(options, clock, fork, server.drain)
  const keepAlive = keepAliveTimer(options.keepAlive ?? "15 seconds", clock, fork)
  const sessions = new SseSessions({ options, server, admission, exchanges, keepAlive, fork })
  yield* onShutdown(sessions.end)
  yield* server.drain.endBy(sessions.end)
  const { messages, streams } = sessions
  return {
    open: yield* RouterHandler.make({ ...streams, admission, exchanges }, options),
    receive: yield* RouterHandler.make({ ...messages, admission, exchanges }, options)
  }
})
