/**
 * The Streamable HTTP endpoint (spec: basic/transports), whatever hands it its requests: one for all revisions. A request of 2026-07-28
 * is a POST of its own; older clients open a session first. What a request is says the request, never the method it calls.
 *
 * Owns the order of the checks. As little as possible is a step of a fiber: what can be answered at once is.
 */
import type { Decoded } from "@effect-mcp/core/Transport"
import { Fibers } from "@effect-mcp/core/internal/Fibers"
import * as Headers from "@effect-mcp/protocol/Headers"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import { Patience } from "./response/SlowResponseTimer.ts"
import { Pulse } from "./response/KeepAliveTimer.ts"
import { McpServer } from "../dispatch/Server.ts"
import { EventStore, makeMemory } from "./session/EventStore.ts"
import * as Sessions from "./session/Sessions.ts"
import { isModern } from "../dispatch/StatelessEra.ts"
import * as Admission from "./request/Admission.ts"
import type { Asked } from "./request/HttpRequest.ts"
import * as Body from "./request/Body.ts"
import type { HttpSession } from "./session/HttpSession.ts"
import { accepted, refuse, type Refusal, shuttingDown, tooMany } from "./response/Responses.ts"
import * as Stateful from "./session/SessionEndpoint.ts"
import * as Stateless from "./stateless/StatelessEndpoint.ts"
import * as Work from "./request/InFlightRequests.ts"

export interface Options extends Admission.Options, Work.Limits {
  /** A stream says that it is alive after as long without a message; 0: never. Default 15 seconds. */
  readonly keepAlive?: Duration.Input | undefined
  /** At shutdown: how long requests may still run. Default 10 seconds. Subscriptions end at once. */
  readonly drain?: Duration.Input | undefined
  /**
   * Sessions of the revisions up to 2025-11-25. `false`: these revisions are served without sessions, each POST by itself, as on nodes
   * that share nothing. Then the server declares no subscriptions, changes and logs, asks nothing, and `resume` has no effect; a client that hangs up interrupts its request.
   */
  readonly sessions?: SessionOptions | false | undefined
  /** Whether clients may come back for what a cut connection lost, and how; `false`: they may not. The `EventStore` keeps it. */
  readonly resume?: ResumeOptions | false | undefined
}

export interface SessionOptions extends Sessions.Options {
  /** Requests of one session at once (default 128); one more is answered by 429. */
  readonly inFlight?: number | undefined
  /** How long a request goes on after its client has gone and cannot come back. Default 10 seconds. */
  readonly grace?: Duration.Input | undefined
}

export interface ResumeOptions {
  /** How long a client may stay away from a running request before it is interrupted, and from an answer. Default 2 minutes. */
  readonly window?: Duration.Input | undefined
  /** When a client is told to come back, if a handler says nothing else. Default 1 second. */
  readonly retry?: Duration.Input | undefined
  /** After so long without an answer a request becomes a stream that can be resumed (2025-11-25). Default 100 milliseconds. */
  readonly patience?: Duration.Input | undefined
  /** How long a connection lasts before its client is sent away to come back (2025-11-25). Default as long as the stream. */
  readonly lifetime?: Duration.Input | undefined
}

type Response = HttpServerResponse.HttpServerResponse
type Answer = Effect.Effect<Response>

export interface Endpoint {
  readonly admission: Admission.Admission
  readonly work: Work.Work
  /** What speaks against a request whatever it says, and against a POST before its body is read. */
  readonly refusal: (asked: Asked) => Refusal | undefined
  /** Answers a POST that was entered as work, once its body was read. */
  readonly posted: (asked: Asked, body: Body.Read, post: Work.Post) => Answer
  /** Answers all but POSTs. */
  readonly other: (asked: Asked, post: Work.Post) => Answer
  /** Ends what is open, in order: for a shutdown. */
  readonly end: Effect.Effect<void>
}

const storeOf = (resume: ResumeOptions | undefined | false) =>
  resume === false
    ? Effect.succeed(undefined)
    : Effect.map(Effect.serviceOption(EventStore), (store) => Option.getOrElse(store, () => makeMemory()))

/** Lives as long as the scope. */
export const make = Effect.fnUntraced(function* (
  options: Options
): Effect.fn.Return<Endpoint, never, McpServer | Scope.Scope> {
  const { drain = "10 seconds", keepAlive = "15 seconds" } = options
  const sessionless = options.sessions === false
  const sessionOptions = options.sessions === false ? {} : (options.sessions ?? {})
  const resume = options.resume === false ? {} : (options.resume ?? {})
  const server = yield* McpServer
  const clock = yield* Clock.Clock
  const scope = yield* Scope.Scope
  const context = yield* Effect.context<never>()
  const runFork = Effect.runForkWith(context)
  const fork = (effect: Effect.Effect<void>) => void Fiber.runIn(runFork(effect), scope)
  const admission = Admission.make(options, (refused) => fork(Effect.logWarning(refused)))
  const work = new Work.Work(options, fork)
  const fibers = new Fibers()
  yield* Effect.addFinalizer(() => fibers.end)
  const sessions = new Sessions.Sessions<HttpSession>(sessionOptions, clock, fork)
  const pulse = new Pulse(keepAlive, clock, (effect) => Fiber.runIn(runFork(effect), scope))
  const stateless = Stateless.make({ server, fibers, context, work, pulse })
  const stateful = Stateful.make({
    server,
    sessions,
    work,
    pulse,
    inFlight: sessionOptions.inFlight ?? 128,
    patience: new Patience(resume.patience ?? "100 millis", clock, fork),
    lifetime: resume.lifetime,
    config: {
      clock,
      context,
      runFork,
      sessionless,
      store: yield* storeOf(!sessionless && options.resume),
      window: Duration.fromInputUnsafe(resume.window ?? "2 minutes"),
      // Without sessions nothing else cancels a request: a notification does not reach it.
      grace: Duration.fromInputUnsafe(sessionless ? 0 : (sessionOptions.grace ?? "10 seconds")),
      retry: Duration.fromInputUnsafe(resume.retry ?? "1 second"),
      leftBehind: (change, caller) => work.leftBehind(change, caller),
      ended: (session) => sessions.end(session, "The session has ended")
    }
  })

  const end = Effect.suspend(() => {
    // Once is enough: who served it may have ended it before the router does.
    if (work.draining) return Effect.void
    work.close()
    for (const session of sessions.all()) session.endStanding()
    const idle = Effect.forEach(sessions.all(), (session) => session.idle, { concurrency: "unbounded" })
    return Effect.interruptible(Effect.timeoutOption(Effect.andThen(work.settled, idle), drain)).pipe(
      Effect.andThen(Effect.sync(() => work.stop())),
      Effect.andThen(sessions.endAll("The server is shutting down")),
      Effect.andThen(Effect.interruptible(Effect.timeoutOption(work.silent, "1 second"))),
      // Who does not read would hold up the HTTP server.
      Effect.andThen(Effect.sync(() => work.cut()))
    )
  })

  /** Whether it came from a client of the stateless era, or one that is to be told of it. */
  const modern = ({ headers }: Asked): boolean => {
    const version = headers[Headers.version]
    return headers[Stateful.sessionId] === undefined && version !== undefined && !stateful.knows(version)
  }

  const refusal = (asked: Asked): Refusal | undefined => {
    const refused = admission.caller(asked)
    if (refused !== undefined || asked.method !== "POST") return refused
    const malformed = admission.post(asked)
    if (malformed !== undefined) return malformed
    // What a running request waits for may still come.
    if (work.draining && asked.headers[Stateful.sessionId] === undefined) return shuttingDown()
    return work.crowded ? tooMany("messages are in flight", work.inFlight * 2) : undefined
  }

  const single = (asked: Asked, body: Decoded, post: Work.Post): Answer => {
    if (body._tag !== "Message" || !JsonRpc.isRequest(body.message)) {
      const nameless = body._tag === "InvalidMessage" && asked.headers[Stateful.sessionId] === undefined
      if (!stateful.isServed || nameless || modern(asked)) return Effect.succeed(unasked(body))
      return stateful.posted(asked, body, post)
    }
    const { message } = body
    const alone = !stateful.isServed || isModern(message) || modern(asked)
    if (alone && work.draining) return Effect.succeed(shuttingDown(message.id))
    const busy = work.busy(post, message.id)
    if (busy !== undefined) return Effect.succeed(busy)
    if (alone) return stateless(message, asked, post)
    return message.method === "initialize" && asked.headers[Stateful.sessionId] === undefined
      ? stateful.opened(body, message, asked, post)
      : stateful.posted(asked, body, post)
  }

  const posted = (asked: Asked, read: Body.Read, post: Work.Post): Answer => {
    work.arrived(post)
    const body = Body.decode(read, asked, admission)
    return HttpServerResponse.isHttpServerResponse(body) ? Effect.succeed(body) : single(asked, body, post)
  }

  const onlyPosts = HttpServerResponse.empty({ status: 405, headers: { allow: "POST" } })
  const notAllowed = HttpServerResponse.empty({ status: 405, headers: { allow: "GET, POST, DELETE" } })
  const other = (asked: Asked, post: Work.Post): Answer => {
    // Without sessions there is no other method.
    if (!stateful.isServed || sessionless || modern(asked)) return Effect.succeed(onlyPosts)
    if (asked.method === "DELETE") return Effect.succeed(stateful.deleted(asked))
    if (asked.method !== "GET") return Effect.succeed(notAllowed)
    const unacceptable = admission.get(asked)
    return unacceptable === undefined ? stateful.got(asked, post) : Effect.succeed(unacceptable)
  }

  return { admission, work, refusal, posted, other, end }
})

/** What is no request, where there are no sessions. */
const unasked = (body: Decoded): Response => {
  if (body._tag === "Batch") return refuse(400, McpError.invalidRequest("A body is one message, not a batch"))
  if (body._tag === "InvalidMessage") return refuse(400, body.error, body.response ? undefined : body.id)
  return JsonRpc.isNotification(body.message)
    ? accepted
    : refuse(400, McpError.invalidRequest("Responses are not posted in this revision"))
}
