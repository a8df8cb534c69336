/**
 * Serves HTTP with server-sent events (spec 2024-11-05: basic/transports, HTTP with SSE), deprecated since 2025-03-26, for clients that
 * know nothing newer. A GET opens a session and carries all that the server says; the client POSTs what it says to the URI that comes
 * first on it. Any revision with a handshake may be agreed on.
 *
 * Owns the sessions: each lives as long as its GET, and only who opened it may post to it. It mounts beside the user's own routes,
 * whose middleware applies; one that provides a `Principal` says who asks. Refuses the stateless era, which has a transport of its own.
 */
import * as Outbox from "@effect-mcp/core/Outbox"
import * as PrincipalModule from "@effect-mcp/core/Principal"
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
import * as Admission from "../request/Admission.ts"
import * as Body from "../request/Body.ts"
import * as Cors from "../request/Cors.ts"
import * as Direct from "../response/NodeResponseWriter.ts"
import { events } from "../response/SseResponse.ts"
import { noSession, type Refusal, refuse, shuttingDown, tooMany } from "../response/Responses.ts"
import { onShutdown } from "../request/Shutdown.ts"
import { slowestOf } from "../request/InFlightRequests.ts"
import { EventBody } from "./EventBody.ts"
import { Pulse } from "../response/KeepAliveTimer.ts"
import { metaOf } from "../../request/RequestServices.ts"
import { McpServer } from "../../dispatch/Server.ts"
import type { Session } from "../../session/Session.ts"
import { isModern } from "../../dispatch/StatelessEra.ts"

export { serve } from "../request/Shutdown.ts"

/** Of what waits longer than a moment the garbage is collected late: much less than for one wire, as there are many. */
const defaultHighWater = 128 * 1024
const defaultControlCap = 16 * 1024 * 1024

export interface Options extends Admission.Options, Outbox.Options {
  /** Above this many bytes waiting for one session, its handlers wait. Default 128 KiB. */
  readonly highWater?: number | undefined
  /** Above this many bytes of answers that wait for one session, it is cut off. Default 16 MiB. */
  readonly controlCap?: number | undefined
  /** Where the stream is. */
  readonly path: HttpRouter.PathInput
  /** Where messages are posted. Default `/messages`. */
  readonly messages?: HttpRouter.PathInput | undefined
  /** Sessions that are open at once (default 1024); one more is answered by 429. */
  readonly sessions?: number | undefined
  /** How much of `sessions` one caller may take: a principal, or else an address. Default 0.5. */
  readonly callerShare?: number | undefined
  /** Messages whose bodies may arrive at once (default 1024); for one more, a slow one is cut off. */
  readonly inFlight?: number | undefined
  /** The stream says that it is alive after as long without a message; 0: never. Default 15 seconds. */
  readonly keepAlive?: Duration.Input | undefined
  /** At shutdown: how long requests may still run. Default 10 seconds. Sessions without any end at once. */
  readonly drain?: Duration.Input | undefined
  /** Lets pages of other sites in, if they are allowed origins. Default no. */
  readonly cors?: Cors.Options | boolean | undefined
}

type Principal = PrincipalModule.Principal["Service"]

type Handle = (http: HttpServerRequest) => Effect.Effect<HttpServerResponse.HttpServerResponse, never, Scope.Scope>

/** One GET, and the session on it. */
interface Held {
  readonly principal: Principal
  /** The principal, or else the address; empty where neither is known. */
  readonly caller: string
  readonly session: Deferred.Deferred<Session>
  readonly fiber: Fiber.Fiber<void>
  /** Whether the response is over, however that came. */
  readonly over: Deferred.Deferred<void>
  /** Cuts the response off. */
  readonly cut: () => void
}

/** A message whose body is still to come. */
interface Reading {
  readonly caller: string
  readonly cut: () => void
}

/** Adds both endpoints to the router. Where `serve` of this module is not used, open streams hold up the server's shutdown. */
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

const principalOf = (context: Context.Context<never>): Principal =>
  Option.getOrElse(Context.getOption(context, PrincipalModule.Principal), () => PrincipalModule.anonymous)

const isSame = (one: Principal, other: Principal): boolean =>
  PrincipalModule.callerKey(one) === PrincipalModule.callerKey(other)

const callerAt = (http: HttpServerRequest, principal: Principal): string =>
  PrincipalModule.callerKey(principal, Option.getOrUndefined(http.remoteAddress)) ?? ""

const notAllowed = (allow: string): Refusal => HttpServerResponse.empty({ status: 405, headers: { allow } })

const urlOf = ({ originalUrl }: HttpServerRequest): URL => new URL(originalUrl, "http://localhost")

const accepted = HttpServerResponse.text("Accepted", { status: 202 })

const make = Effect.fnUntraced(function* (options: Options) {
  const { drain = "10 seconds", inFlight = 1024, keepAlive = "15 seconds", sessions: limit = 1024 } = options
  const messages = options.messages ?? defaultMessages
  const log = Effect.runForkWith(yield* Effect.context<never>())
  const admission = Admission.make(options, (refused) => void log(Effect.logWarning(refused)))
  const read = Body.reader(admission)
  const server = yield* McpServer
  const scope = yield* Scope.Scope
  const runFork = Effect.runForkWith(yield* Effect.context<never>())
  const pulse = new Pulse(keepAlive, yield* Clock.Clock, (effect) => Fiber.runIn(runFork(effect), scope))
  /** Those that can be posted to. */
  const sessions = new Map<string, Held>()
  /** All that have not ended to the last finalizer. */
  let alive = 0
  const reading = new Set<Reading>()
  let draining = false

  /** Lets what runs in it finish, then ends it: its response, too, although nobody reads it. */
  const endOne = (held: Held): Effect.Effect<void> => {
    const isOver = Effect.andThen(Fiber.await(held.fiber), Deferred.await(held.over))
    return Deferred.await(held.session).pipe(
      Effect.flatMap((session) => session.drain(drain)),
      Effect.andThen(Effect.sync(() => held.fiber.interruptUnsafe())),
      Effect.andThen(Effect.timeoutOption(isOver, "2 seconds")),
      Effect.andThen(Effect.sync(held.cut)),
      Effect.andThen(Effect.timeoutOption(Deferred.await(held.over), "1 second")),
      Effect.interruptible,
      Effect.asVoid
    )
  }
  yield* onShutdown(
    Effect.suspend(() => {
      draining = true
      return Effect.forEach(sessions.values(), endOne, { concurrency: "unbounded", discard: true })
    })
  )

  /** Speaks with one client until it hangs up, or until it is told to stop. */
  const converse = Effect.fnUntraced(function* (
    id: string,
    body: EventBody,
    principal: Principal,
    opened: Deferred.Deferred<Session>,
    hungUp: Effect.Effect<never, TransportError>
  ): Effect.fn.Return<void, TransportError, Scope.Scope> {
    const { broken, sink } = yield* Outbox.make(body.write, {
      ...options,
      highWater: options.highWater ?? defaultHighWater,
      controlCap: options.controlCap ?? defaultControlCap
    })
    const transport = { incoming: Stream.never, sink, broken: Effect.raceFirst(broken, hungUp) }
    const session = yield* server.connect(transport, { id, principal })
    Deferred.doneUnsafe(opened, Effect.succeed(session))
    yield* session.peer.awaitClosed
  })

  const open = Effect.fnUntraced(function* (
    http: HttpServerRequest
  ): Effect.fn.Return<HttpServerResponse.HttpServerResponse, never, Scope.Scope> {
    const foreign = admission.caller(http)
    if (foreign !== undefined) return foreign
    if (http.method !== "GET") return notAllowed("GET")
    const refused = admission.get(http)
    if (refused !== undefined) return refused
    if (draining) return shuttingDown()
    if (alive >= limit) return tooMany("sessions are open", limit)
    const context = yield* Effect.context<never>()
    const principal = principalOf(context)
    const caller = callerAt(http, principal)
    const share = Math.ceil(limit * (options.callerShare ?? 0.5))
    if (caller !== "" && sessions.size >= share) {
      const own = [...sessions.values()].filter((held) => held.caller === caller)
      if (own.length >= share) return tooMany("sessions of this caller are open", share)
    }

    const id = globalThis.crypto.randomUUID()
    // What stands before our path was put there by whoever mounted us.
    const { pathname } = urlOf(http)
    const mount = pathname.endsWith(options.path) ? pathname.slice(0, -options.path.length) : ""
    const body = new EventBody({ event: "endpoint", data: `${mount}${messages}?sessionId=${id}` })
    const opened = Deferred.makeUnsafe<Session>()
    const hungUp = Deferred.makeUnsafe<never, TransportError>()
    const over = Deferred.makeUnsafe<void>()
    const response = Fiber.getCurrent()
    const cut = () => response?.interruptUnsafe()
    alive++
    const fiber = runFork(
      converse(id, body, principal, opened, Deferred.await(hungUp)).pipe(
        // A reader that made the wire break would not notice a proper end.
        Effect.tapError(() => Effect.sync(cut)),
        Effect.ensuring(Effect.sync(() => sessions.delete(id))),
        Effect.scoped,
        Effect.ignore,
        Effect.ensuring(Effect.sync(() => void alive--))
      )
    )
    sessions.set(id, { principal, caller, session: opened, fiber, over, cut })
    Fiber.runIn(fiber, scope)
    // The scope of an HTTP request ends with its response: written, or cut off by the other side.
    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        sessions.delete(id)
        body.end()
        Deferred.doneUnsafe(over, Effect.void)
        Deferred.doneUnsafe(hungUp, Effect.fail(new TransportError({ reason: "Read", message: "The client is gone" })))
      })
    )
    // Who is told where to post must find somebody there.
    yield* Deferred.await(opened)
    return Direct.answer(http, context, events(body, pulse))
  })

  /** What of the stateless era comes here is told which revisions there are. */
  const modern = (inbound: Decoded): JsonRpc.Failure | undefined => {
    if (inbound._tag !== "Message" || !JsonRpc.isRequest(inbound.message) || !isModern(inbound.message))
      return undefined
    const supported = Revision.stateful.map(({ version }) => version).toReversed()
    const asked = String(metaOf(inbound.message)[Meta.protocolVersion])
    return JsonRpc.failure(inbound.message.id, McpError.unsupportedProtocolVersion(supported, asked))
  }

  const deliver = Effect.fnUntraced(function* (
    http: HttpServerRequest,
    id: string,
    held: Held,
    principal: Principal,
    arrived: () => void
  ): Effect.fn.Return<HttpServerResponse.HttpServerResponse, Refusal> {
    const session = yield* Deferred.await(held.session)
    const body = yield* Effect.timeoutOrElse(read(http, Effect.succeed), {
      duration: bodyTimeout,
      orElse: () => Effect.fail(late)
    })
    arrived()
    const inbound = Body.decode(body, { headers: http.headers, principal }, admission)
    if (HttpServerResponse.isHttpServerResponse(inbound)) return inbound
    if (sessions.get(id) !== held) return noSession()
    const failure = modern(inbound)
    if (failure === undefined) session.peer.receive(inbound)
    else session.peer.sink.send(failure, "control")
    if (inbound._tag !== "InvalidMessage") return accepted
    // Its sender waits for an answer on the stream, and sees this status besides.
    return refuse(400, inbound.error, inbound.response ? undefined : inbound.id)
  })

  const receive = Effect.fnUntraced(function* (
    http: HttpServerRequest
  ): Effect.fn.Return<HttpServerResponse.HttpServerResponse> {
    const foreign = admission.caller(http)
    if (foreign !== undefined) return foreign
    if (http.method !== "POST") return notAllowed("POST")
    const refused = admission.post(http, false)
    if (refused !== undefined) return refused
    const id = urlOf(http).searchParams.get("sessionId") ?? ""
    const held = sessions.get(id)
    const principal = principalOf(yield* Effect.context<never>())
    // Whose it is not learns nothing about it.
    if (held === undefined || !isSame(held.principal, principal)) return noSession()
    const slow = reading.size < inFlight ? undefined : slowestOf([...reading])
    if (slow !== undefined) reading.delete(slow)
    slow?.cut()
    const fiber = Fiber.getCurrent()
    const body: Reading = { caller: callerAt(http, principal), cut: () => fiber?.interruptUnsafe() }
    reading.add(body)
    return yield* deliver(http, id, held, principal, () => reading.delete(body)).pipe(
      Effect.match({ onFailure: (refusal) => refusal, onSuccess: (answer) => answer }),
      Effect.ensuring(Effect.sync(() => reading.delete(body)))
    )
  })

  const { cors = false } = options
  if (cors === false) return { open, receive }
  const shared = Cors.cors(cors === true ? {} : cors, options)
  const within =
    (handle: Handle): Handle =>
    (http) =>
      Effect.provideService(shared(handle(http)), HttpServerRequest, http)
  return { open: within(open), receive: within(receive) }
})
