/**
 * Serves over Streamable HTTP (spec: basic/transports): one endpoint for all revisions. A request of 2026-07-28 is a POST of its own;
 * older clients open a session first. What a request is says the request, never the method it calls.
 *
 * Mounts beside the user's own routes, whose middleware applies; one that provides a `Principal` says who asks. What POSTs, sessions and
 * streams are is in `http/`.
 */
import { Principal } from "@effect-mcp/core/Principal"
import type { Decoded, Envelope } from "@effect-mcp/core/Transport"
import * as Headers from "@effect-mcp/protocol/Headers"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as HttpRouter from "effect/http/HttpRouter"
import { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as Admission from "../http/Admission.ts"
import * as Body from "../http/Body.ts"
import * as Cors from "../http/Cors.ts"
import type { HttpSession } from "../http/HttpSession.ts"
import { accepted, refuse, shuttingDown, tooMany } from "../http/Refusal.ts"
import { onShutdown } from "../http/Shutdown.ts"
import * as Stateful from "../http/Stateful.ts"
import * as Stateless from "../http/Stateless.ts"
import * as Work from "../http/Work.ts"
import { Pulse } from "../internal/Pulse.ts"
import { McpServer } from "../Server.ts"
import { EventStore, makeMemory } from "../session/EventStore.ts"
import * as Sessions from "../session/Sessions.ts"
import { isModern } from "../Stateless.ts"

export { serve } from "../http/Shutdown.ts"

export interface Options extends Admission.Options, Work.Limits {
  /** Where the endpoint is. */
  readonly path: HttpRouter.PathInput
  /** A stream says that it is alive after as long without a message. Default 15 seconds. */
  readonly keepAlive?: Duration.Input | undefined
  /** At shutdown: how long requests may still run. Default 10 seconds. Subscriptions end at once. */
  readonly drain?: Duration.Input | undefined
  /** Sessions of the revisions up to 2025-11-25. */
  readonly sessions?: SessionOptions | undefined
  /** Lets pages of other sites in, if they are allowed origins. Default no. */
  readonly cors?: Cors.Options | boolean | undefined
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

/** Adds the endpoint to the router. Where `serve` of this module is not used, open streams hold up the server's shutdown. */
export const layer = (options: Options): Layer.Layer<never, never, McpServer | HttpRouter.HttpRouter> =>
  HttpRouter.use((router) => Effect.flatMap(make(options), (handle) => router.add("*", options.path, handle)))

/**
 * The endpoint as a `fetch` handler. Built at once; `dispose` ends what is open, in order. To put routes or middleware beside it, give
 * `layer` to `HttpRouter.toWebHandler`.
 */
export const toWebHandler = <E>(
  server: Layer.Layer<McpServer, E>,
  { memoMap, ...options }: Options & { readonly memoMap?: Layer.MemoMap | undefined }
): {
  readonly handler: (request: Request) => Promise<globalThis.Response>
  readonly dispose: () => Promise<void>
} => HttpRouter.toWebHandler(Layer.provide(layer(options), server), { disableLogger: true, memoMap })

type Response = HttpServerResponse.HttpServerResponse

const storeOf = (resume: ResumeOptions | undefined | false) =>
  resume === false
    ? Effect.succeed(undefined)
    : Effect.map(Effect.serviceOption(EventStore), (store) => Option.getOrElse(store, () => makeMemory()))

const make = Effect.fnUntraced(function* (options: Options) {
  const { drain = "10 seconds", keepAlive = "15 seconds", sessions: sessionOptions = {} } = options
  const resume = options.resume === false ? {} : (options.resume ?? {})
  const server = yield* McpServer
  const clock = yield* Clock.Clock
  const scope = yield* Scope.Scope
  const context = yield* Effect.context<never>()
  const runFork = Effect.runForkWith(context)
  const admission = Admission.make(options)
  const read = Body.reader(admission)
  const fork = (effect: Effect.Effect<void>) => void Fiber.runIn(runFork(effect), scope)
  const work = new Work.Work(options, fork)
  const sessions = new Sessions.Sessions<HttpSession>(sessionOptions, clock, fork)
  const pulse = new Pulse(keepAlive, clock, (effect) => Fiber.runIn(runFork(effect), scope))
  const stateless = Stateless.make({ server, scope, context, work, pulse })
  const stateful = Stateful.make({
    server,
    sessions,
    work,
    pulse,
    inFlight: sessionOptions.inFlight ?? 128,
    patience: resume.patience ?? "100 millis",
    lifetime: resume.lifetime,
    config: {
      clock,
      runFork,
      store: yield* storeOf(options.resume),
      window: Duration.fromInputUnsafe(resume.window ?? "2 minutes"),
      grace: Duration.fromInputUnsafe(sessionOptions.grace ?? "10 seconds"),
      retry: Duration.fromInputUnsafe(resume.retry ?? "1 second"),
      leftBehind: (change) => work.leftBehind(change),
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
  yield* onShutdown(end)

  /** Whether it came from a client of the stateless era, or one that is to be told of it. */
  const modern = ({ headers }: HttpServerRequest): boolean => {
    const version = headers[Headers.version]
    return headers[Stateful.sessionId] === undefined && version !== undefined && !stateful.knows(version)
  }

  const single = (http: HttpServerRequest, envelope: Envelope, body: Decoded, post: Work.Post) => {
    if (body._tag !== "Message" || !JsonRpc.isRequest(body.message)) {
      const nameless = body._tag === "Unreadable" && http.headers[Stateful.sessionId] === undefined
      if (!stateful.hasSessions || nameless || modern(http)) return Effect.succeed(unasked(body))
      return stateful.posted(http, envelope, body, post)
    }
    const { message } = body
    if (!stateful.hasSessions || isModern(message) || modern(http)) {
      if (work.draining) return Effect.succeed(shuttingDown(message.id))
      if (work.busy) return Effect.succeed(tooMany("requests are in flight", work.inFlight, message.id))
      return stateless(message, envelope, post)
    }
    if (work.busy) return Effect.succeed(tooMany("requests are in flight", work.inFlight, message.id))
    return message.method === "initialize" && http.headers[Stateful.sessionId] === undefined
      ? stateful.opened(body, message, envelope, post)
      : stateful.posted(http, envelope, body, post)
  }

  const posted = Effect.fnUntraced(function* (http: HttpServerRequest): Effect.fn.Return<Response, never, Scope.Scope> {
    const refused = admission.post(http)
    if (refused !== undefined) return refused
    // What a running request waits for may still come.
    if (work.draining && http.headers[Stateful.sessionId] === undefined) return shuttingDown()
    if (work.crowded) return tooMany("messages are in flight", work.inFlight * 2)
    const reader = Fiber.getCurrent()
    const post = work.enter(() => reader?.interruptUnsafe())
    // The scope of an HTTP request ends with its response: written, or cut off by the other side.
    yield* Effect.addFinalizer(() => Effect.sync(() => work.leave(post)))
    const envelope = yield* envelopeOf(http)
    const body = yield* Effect.match(read(http, envelope), {
      onFailure: (refusal) => refusal,
      onSuccess: (body) => body
    })
    post.reading = undefined
    return HttpServerResponse.isHttpServerResponse(body) ? body : yield* single(http, envelope, body, post)
  })

  const got = Effect.fnUntraced(function* (http: HttpServerRequest): Effect.fn.Return<Response, never, Scope.Scope> {
    const response = Fiber.getCurrent()
    const cut = () => response?.interruptUnsafe()
    work.open(cut)
    yield* Effect.addFinalizer(() => Effect.sync(() => work.closed(cut)))
    return yield* stateful.got(http, yield* envelopeOf(http))
  })

  const onlyPosts = HttpServerResponse.empty({ status: 405, headers: { allow: "POST" } })
  const notAllowed = HttpServerResponse.empty({ status: 405, headers: { allow: "GET, POST, DELETE" } })
  const handle = (http: HttpServerRequest): Effect.Effect<Response, never, Scope.Scope> => {
    const refused = admission.caller(http)
    if (refused !== undefined) return Effect.succeed(refused)
    if (http.method === "POST") return posted(http)
    // The stateless era has no other method.
    if (!stateful.hasSessions || modern(http)) return Effect.succeed(onlyPosts)
    if (http.method === "DELETE") return Effect.map(envelopeOf(http), (envelope) => stateful.deleted(http, envelope))
    if (http.method !== "GET") return Effect.succeed(notAllowed)
    const unacceptable = admission.get(http)
    if (unacceptable !== undefined) return Effect.succeed(unacceptable)
    return got(http)
  }
  const { cors = false } = options
  if (cors === false) return handle
  const shared = Cors.cors(cors === true ? {} : cors, options)
  return (http: HttpServerRequest): ReturnType<typeof handle> =>
    Effect.provideService(shared(handle(http)), HttpServerRequest, http)
})

const envelopeOf = ({ headers }: HttpServerRequest): Effect.Effect<Envelope> =>
  Effect.contextWith((context: Context.Context<never>) =>
    Effect.succeed({ headers, principal: Option.getOrUndefined(Context.getOption(context, Principal)) })
  )

/** What is no request, where there are no sessions. */
const unasked = (body: Decoded): Response => {
  if (body._tag === "Batch") return refuse(400, McpError.invalidRequest("A body is one message, not a batch"))
  if (body._tag === "Unreadable") return refuse(400, body.error, body.response ? undefined : body.id)
  return JsonRpc.isNotification(body.message)
    ? accepted
    : refuse(400, McpError.invalidRequest("Responses are not posted in this revision"))
}
