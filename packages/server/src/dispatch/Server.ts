/**
 * An MCP server: features behind a dispatcher, over any transport. Endpoints are built on it; it has no code of stdio or HTTP.
 *
 * Owns the sessions, which `SessionFactory` makes of transports.
 */
import { attempt, exitOf } from "@effect-mcp/core/internal/eager"
import * as Peer from "@effect-mcp/core/Peer"
import * as Principal from "@effect-mcp/core/Principal"
import type { RequestServices } from "@effect-mcp/core/RequestContext"
import * as TraceContext from "@effect-mcp/core/TraceContext"
import type { Envelope, Sink, Transport } from "@effect-mcp/core/Transport"
import type { ServerCapabilities } from "@effect-mcp/protocol/Capabilities"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import type { Icon } from "@effect-mcp/protocol/model/Icon"
import * as Revision from "@effect-mcp/protocol/Revision"
import * as Validate from "@effect-mcp/protocol/Validate"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Scheduler from "effect/Scheduler"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { shortLived } from "../internal/warmUpScopes.ts"
import type { Announcer, ListKind } from "../session/ChangeNotifier.ts"
import type * as Caching from "../features/Caching.ts"
import * as Connect from "./SessionFactory.ts"
import { Dispatcher } from "./Dispatcher.ts"
import * as Methods from "./methods.ts"
import * as Features from "../features/Features.ts"
import type { KeepAlive } from "@effect-mcp/core/KeepAlive"
import type * as Lifecycle from "./Initialize.ts"
import * as Limits from "../Limits.ts"
import * as Logging from "./Logging.ts"
import * as InputRounds from "../mrtr/InputRounds.ts"
import * as Replay from "../mrtr/Replay.ts"
import { ReplayGuard } from "../mrtr/ReplayGuard.ts"
import { layerRandom, StateSeal } from "../mrtr/StateSeal.ts"
import { defaultPageSize } from "../features/Pagination.ts"
import * as RateLimit from "../features/RateLimit.ts"
import type { Session } from "../session/Session.ts"
import * as Stateful from "./StatefulEra.ts"
import * as Stateless from "./StatelessEra.ts"

export type { ConnectOptions } from "./SessionFactory.ts"
export type { Registries } from "../features/Features.ts"

export interface Options<E, R> {
  /** The name for programs; user interfaces show `title`. */
  readonly name: string
  readonly version: string
  readonly title?: string | undefined
  readonly description?: string | undefined
  readonly websiteUrl?: string | undefined
  readonly icons?: ReadonlyArray<Icon> | undefined
  /** Tells the model how to use this server. */
  readonly instructions?: string | undefined
  /** Tools, resources, prompts and middleware, as layers. */
  readonly features: Layer.Layer<never, E, R>
  /** The revisions to serve. Default: all. */
  readonly revisions?: ReadonlyArray<Revision.Version> | undefined
  /** Declares tools, resources (with subscriptions), prompts and completions before any is registered. Default false. */
  readonly dynamic?: boolean | undefined
  readonly experimental?: ServerCapabilities["experimental"]
  /** Settings by the prefixed id of the extension. */
  readonly extensions?: ServerCapabilities["extensions"]
  /** Changes the result of `initialize` by its caller: a gateway answers as the server behind it. Default: the same for all. */
  readonly greet?: Lifecycle.Greet | undefined
  /** Items per page of a list. Default 100. */
  readonly pageSize?: number | undefined
  /** How long a client may take to answer a question. Default 10 minutes. */
  readonly askTimeout?: Duration.Input | undefined
  readonly logging?: Logging.Options | undefined
  /** Bounds of concurrent requests and kept bytes, per session, per caller and in all. Default: see `Limits`. */
  readonly limits?: Limits.Options | undefined
  /** Requests per second and caller, by method; `false` for no limit. Default: see `RateLimit.defaults`. */
  readonly rateLimit?: RateLimit.Options | false | undefined
  /** Caching hints by list (2026-07-28 on). Default: stale at once and private. */
  readonly caching?: Caching.Hints | undefined
  /** Bounds of requests that ask their client in rounds (2026-07-28 on). */
  readonly rounds?: InputRounds.Options | undefined
  /** Pings initialized clients and closes connections that do not answer. Default off. */
  readonly keepAlive?: KeepAlive | undefined
  /** How long requests may still run when the scope of a connection closes; new ones are refused. Default 0. */
  readonly drain?: Duration.Input | undefined
}

export interface DispatchOptions {
  /** The network address of the client, which tells anonymous callers apart. */
  readonly address?: string | undefined
  /** Completes when the endpoint is about to stop: subscriptions then end with their result. Default never. */
  readonly closing?: Effect.Effect<void> | undefined
  /** Called when the request has passed all checks before its handler. */
  readonly admitted?: (() => void) | undefined
  /** The context of the fiber that runs the effect at once: a request that does not wait is then answered within the call. */
  readonly base?: Context.Context<never> | undefined
}

/** A running server, connected to any number of transports. */
export interface Server {
  /** Serves one connection until its end, or until the scope closes. */
  readonly connect: (
    transport: Transport,
    options?: Connect.ConnectOptions
  ) => Effect.Effect<Session, never, Scope.Scope>
  /**
   * Answers one request of a stateless revision, without a session. Interrupting the effect ends the request. Notifications go to the
   * sink, then the answer, which is sent in any case.
   */
  readonly dispatch: (
    request: JsonRpc.Request,
    envelope: Envelope,
    sink: Sink,
    options?: DispatchOptions
  ) => Effect.Effect<void>
  /** The revisions that are served, of both eras, oldest first. */
  readonly revisions: ReadonlyArray<Revision.Revision>
  /** The sessions that are open. */
  readonly sessions: Effect.Effect<ReadonlyArray<Session>>
  /** Sends `notifications/elicitation/complete` to a client that declared the URL mode; to others nothing. */
  readonly elicitationComplete: (session: Session, elicitationId: string) => Effect.Effect<void>
}

/** The service of a `Server`. */
export class McpServer extends Context.Service<McpServer, Server>()("@effect-mcp/server/McpServer") {}

/** Builds the features and serves them. Other requirements of the features stay requirements of the layer. */
export const layer = <E, R>(
  options: Options<E, R>
): Layer.Layer<McpServer, E, Exclude<R, Features.Registries | RequestServices>> =>
  Layer.fromBuildMemo((_, scope) =>
    Effect.map(Scope.provide(make(options), scope), (server) => Context.make(McpServer, server))
  ) as Layer.Layer<McpServer, E, Exclude<R, Features.Registries | RequestServices>> // Scope is in RequestServices

const identityOf = <E, R>(options: Options<E, R>, features: Features.Features): Lifecycle.Identity => {
  const { name, version, title, description, websiteUrl, icons, instructions, experimental, extensions } = options
  const revisions = Revision.all.filter(
    (revision) => options.revisions === undefined || options.revisions.includes(revision.version)
  )
  let latched: ServerCapabilities | undefined
  return {
    info: {
      name,
      version,
      ...(title === undefined ? undefined : { title }),
      ...(description === undefined ? undefined : { description }),
      ...(websiteUrl === undefined ? undefined : { websiteUrl }),
      ...(icons === undefined ? undefined : { icons: Validate.icons(`Server ${name}`, icons) })
    },
    instructions,
    revisions,
    // Fixed at the first handshake: what a client was told must stay true.
    capabilities: () =>
      (latched ??= Features.capabilities(features, { dynamic: options.dynamic === true, experimental, extensions }))
  }
}

const make = Effect.fnUntraced(function* <E, R>(options: Options<E, R>) {
  const context = yield* Effect.context<never>()
  shortLived()
  const scheduler = Replay.scheduler(yield* Scheduler.Scheduler)
  const features = yield* Effect.provideService(
    Features.build(options.features, options.limits?.tool),
    Scheduler.Scheduler,
    scheduler
  )
  const identity = identityOf(options, features)
  const clock = yield* Clock.Clock
  const logging = Logging.make(options.logging ?? {}, clock)
  const rateLimit = new RateLimit.RateLimit(options.rateLimit ?? RateLimit.defaults, clock)
  const limits = new Limits.Limits(options.limits)
  const listeners = new Set<Announcer>()
  const pageSize = options.pageSize ?? defaultPageSize
  const methods = Methods.make({ features, identity, limits, listeners, pageSize })
  const dispatcher = new Dispatcher({ identity, features, methods, caching: options.caching ?? {}, rateLimit })
  const stateful = Stateful.make({
    identity,
    dispatcher,
    limits,
    rateLimit,
    logging,
    askTimeout: options.askTimeout ?? "10 minutes",
    greet: options.greet
  })
  const stateless = Stateless.make({
    identity,
    features,
    dispatcher,
    rateLimit,
    logging,
    rounds: new InputRounds.InputRounds(
      options.name,
      yield* sealOf,
      yield* Effect.map(Effect.serviceOption(ReplayGuard), Option.getOrUndefined),
      options.rounds
    )
  })
  const handle = (
    session: Session,
    exchange: Peer.Exchange,
    base: Context.Context<never> | undefined
  ): Effect.Effect<unknown, McpError.McpError> => {
    const { request } = exchange
    if (session.refuses(request.id)) return Effect.fail(McpError.interrupted("The server is shutting down"))
    const era = Stateless.isModern(request) ? stateless : stateful
    return observed(() => era.handle(session, exchange, base), request, base === undefined)
  }
  // Callers without a name and an address cannot be told apart: they share one budget.
  const { buckets }: RateLimit.Caller = { buckets: [] }
  const dispatch = (
    request: JsonRpc.Request,
    envelope: Envelope,
    sink: Sink,
    { address, admitted, closing = Effect.never, base }: DispatchOptions = {}
  ): Effect.Effect<void> => {
    const principal = envelope.principal ?? Principal.anonymous
    const origin = { principal, kept: 0, closing, admitted, buckets, address }
    const handle = (base?: Context.Context<never>) => stateless.handle(origin, { request, envelope, sink }, base)
    const answer = (exit: Exit.Exit<unknown, McpError.McpError>): void => {
      const ended = Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause)
      Peer.answer(sink, Peer.response(request.id, ended ? "The request was interrupted" : undefined, exit))
    }
    let effect: ReturnType<typeof handle> | undefined
    if (base !== undefined && !TraceContext.isTraced(base)) {
      effect = attempt(() => handle(base))
      const done = exitOf(effect)
      if (done !== undefined && Exit.isSuccess(done)) {
        answer(done)
        return Effect.void
      }
    }
    return Effect.withFiber((fiber) =>
      observed(() => effect ?? handle(), request, TraceContext.isTraced(fiber.context))
    ).pipe(
      Effect.onExit((exit) => Effect.sync(() => answer(exit))),
      Effect.exit,
      Effect.asVoid
    )
  }
  const hasSessions = identity.revisions.some(({ era }) => era === "stateful")
  const pings = (request: JsonRpc.Request): boolean => hasSessions && !Stateless.isModern(request)
  const sessions = new Set<Session>()
  const runFork = Effect.runForkWith(context)
  let unnamed = 0

  const announce = (kind: ListKind, changes: Stream.Stream<void>) =>
    Effect.forkScoped(
      Stream.runForEach(changes, () =>
        Effect.sync(() => {
          for (const session of sessions) {
            // A client gets changes only of lists whose changes were declared to it.
            if (session.negotiated === undefined || session.sessionless) continue
            if (identity.capabilities()[kind]?.listChanged !== true) continue
            session.announcer.listChanged(kind)
          }
          for (const listener of listeners) listener.listChanged(kind)
        })
      ),
      { startImmediately: true }
    )
  yield* announce("tools", features.tools.changes)
  yield* announce("resources", features.resources.changes)
  yield* announce("prompts", features.prompts.changes)

  const connect = Connect.make({
    request: handle,
    pings,
    sessions,
    runFork,
    nextId: () => `session-${++unnamed}`,
    limits: options.limits,
    over: (session) => limits.release(session),
    keepAlive: options.keepAlive,
    drain: options.drain
  })

  return McpServer.of({
    connect,
    dispatch,
    revisions: identity.revisions,
    sessions: Effect.sync(() => [...sessions]),
    elicitationComplete: (session, elicitationId) =>
      Effect.sync(() => {
        const { revision, clientCapabilities } = session.negotiated ?? {}
        if (revision?.serverNotifications["notifications/elicitation/complete"] === undefined) return
        if (clientCapabilities?.elicitation?.url === undefined) return
        session.notify("notifications/elicitation/complete", { elicitationId })
      })
  })
})

/** The seal of the context, else one with a key of this process, made by the first request that needs it. */
const sealOf: Effect.Effect<Effect.Effect<StateSeal["Service"]>, never, Scope.Scope> = Effect.gen(function* () {
  const provided = yield* Effect.serviceOption(StateSeal)
  if (Option.isSome(provided)) return Effect.succeed(provided.value)
  const scope = yield* Scope.Scope
  return yield* Effect.cached(
    Effect.map(Scope.provide(Layer.build(layerRandom()), scope), (context) => Context.get(context, StateSeal))
  )
})

/** In a span where there is a tracer; else an effect that has ended stays an Exit. */
const observed = (
  handle: () => Effect.Effect<unknown, McpError.McpError>,
  request: JsonRpc.Request,
  traced: boolean
): Effect.Effect<unknown, McpError.McpError> => {
  if (traced) return TraceContext.serverSpan(Effect.tapCause(Effect.suspend(handle), reportDefect(request)), request)
  const effect = attempt(handle)
  return Exit.isExit(effect) && Exit.isSuccess(effect) ? effect : Effect.tapCause(effect, reportDefect(request))
}

/** Logs a defect of a handler; the client sees only -32603. */
const reportDefect =
  ({ method, params }: JsonRpc.Request) =>
  (cause: Cause.Cause<McpError.McpError>): Effect.Effect<void> => {
    if (!Cause.hasDies(cause)) return Effect.void
    const target = params?.name ?? params?.uri
    // The name is text of the client: quoted, and cut.
    const named = typeof target === "string" ? ` ${JSON.stringify(target.slice(0, 128))}` : ""
    return Effect.logError(`The handler of ${method}${named} died`, cause)
  }
