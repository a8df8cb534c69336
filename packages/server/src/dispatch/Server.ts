/**
 * An MCP server: features behind a dispatcher, over any transport. Endpoints are built on it; it has no code of stdio or HTTP.
 *
 * Owns the sessions, which `SessionFactory` makes of transports.
 */
import type { KeepAlive } from "@effect-mcp/core/KeepAlive"
import type { RequestServices } from "@effect-mcp/core/RequestContext"
import type { Transport } from "@effect-mcp/core/Transport"
import * as McpError from "@effect-mcp/protocol/McpError"
import type * as Revision from "@effect-mcp/protocol/Revision"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Scheduler from "effect/Scheduler"
import * as Scope from "effect/Scope"
import type * as Caching from "../features/Caching.ts"
import * as Features from "../features/Features.ts"
import { defaultPageSize } from "../features/Pagination.ts"
import * as RateLimit from "../features/RateLimit.ts"
import { warmUpScopes } from "../internal/warmUpScopes.ts"
import * as Limits from "../Limits.ts"
import * as InputRounds from "../mrtr/InputRounds.ts"
import * as Replay from "../mrtr/Replay.ts"
import { ReplayGuard } from "../mrtr/ReplayGuard.ts"
import { layerRandom, StateSeal } from "../mrtr/StateSeal.ts"
import type { ChangeNotifier } from "../session/ChangeNotifier.ts"
import type { Session } from "../session/Session.ts"
import { Dispatcher } from "./Dispatcher.ts"
import type { OnInitialize } from "./Initialize.ts"
import * as ListChanges from "./ListChanges.ts"
import * as Logging from "./Logging.ts"
import * as Methods from "./methods.ts"
import { observed } from "./observed.ts"
import * as ServerInfo from "./ServerInfo.ts"
import * as SessionFactory from "./SessionFactory.ts"
import { StatefulEra } from "./StatefulEra.ts"
import { isModern, StatelessEra } from "./StatelessEra.ts"
import * as StatelessDispatch from "./StatelessDispatch.ts"

export type { ConnectOptions } from "./SessionFactory.ts"
export type { Registries } from "../features/Features.ts"
export type { DispatchOptions } from "./StatelessDispatch.ts"

export interface Options<E, R> extends ServerInfo.Options {
  /** Tools, resources, prompts and middleware, as layers. */
  readonly features: Layer.Layer<never, E, R>
  /** Changes the result of `initialize` by its caller: a gateway answers as the server behind it. Default: the same for all. */
  readonly onInitialize?: OnInitialize | undefined
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

/** A running server, connected to any number of transports. */
export interface Server {
  /** Serves one connection until its end, or until the scope closes. */
  readonly connect: (
    transport: Transport,
    options?: SessionFactory.ConnectOptions
  ) => Effect.Effect<Session, never, Scope.Scope>
  /** Answers one request of a stateless revision, without a session. */
  readonly dispatch: StatelessDispatch.Dispatch
  /** The revisions that are served, of both eras, oldest first. */
  readonly revisions: ReadonlyArray<Revision.Revision>
  /** The sessions that are open. */
  readonly sessions: Effect.Effect<ReadonlyArray<Session>>
  /** Sends `notifications/elicitation/complete` to a client that declared the URL mode; to others nothing. */
  readonly elicitationComplete: (session: Session, elicitationId: string) => Effect.Effect<void>
}

/** The service of a `Server`. */
export class McpServer extends Context.Service<McpServer, Server>()("@effect-mcp/server/McpServer") {}

/**
 * Builds the features into a server. Other requirements of the features stay requirements of the layer; it fails as they do. Serve it with
 * one of the functions of `McpServer`, or connect it to any `Transport`.
 *
 * @example
 * ```ts
 * import { Tool, Tools } from "@effect-mcp/core"
 * import { McpServer } from "@effect-mcp/server"
 * import { Effect, Schema } from "effect"
 *
 * const Add = Tool.make("add", { description: "Adds two numbers", input: { a: Schema.Finite, b: Schema.Finite } })
 * const add = Tools.layer(Add, ({ a, b }) => Effect.succeed(`${a + b}`))
 *
 * export const server = McpServer.layer({
 *   name: "calculator",
 *   version: "1.0.0",
 *   instructions: "Use it for every sum.",
 *   features: add
 * })
 * ```
 */
export const layer = <E, R>(
  options: Options<E, R>
): Layer.Layer<McpServer, E, Exclude<R, Features.Registries | RequestServices>> =>
  Layer.fromBuildMemo((_, scope) =>
    Effect.map(Scope.provide(make(options), scope), (server) => Context.make(McpServer, server))
  ) as Layer.Layer<McpServer, E, Exclude<R, Features.Registries | RequestServices>> // Scope is in RequestServices

const make = Effect.fnUntraced(function* <E, R>(options: Options<E, R>) {
  const context = yield* Effect.context<never>()
  const clock = yield* Clock.Clock
  const features = yield* buildFeatures(options)
  const info = ServerInfo.make(options, features)
  const limits = new Limits.Limits(options.limits)
  const listeners = new Set<ChangeNotifier>()
  const sessions = new Set<Session>()
  const logging = Logging.make(options.logging ?? {}, clock)
  const rateLimit = new RateLimit.RateLimit(options.rateLimit ?? RateLimit.defaults, clock)
  const { askTimeout = "10 minutes", caching = {}, onInitialize, pageSize = defaultPageSize } = options
  const methods = Methods.make({ features, info, limits, listeners, pageSize })
  const dispatcher = new Dispatcher({ info, features, methods, caching, rateLimit })
  const stateful = new StatefulEra({ info, dispatcher, limits, rateLimit, logging, askTimeout, onInitialize })
  const rounds = yield* inputRounds(options)
  const stateless = new StatelessEra({ info, features, dispatcher, rateLimit, logging, rounds })

  yield* ListChanges.forward({ features, info, sessions, listeners })

  const opensSessions = ServerInfo.hasSessions(info)
  let unnamed = 0
  const connect = SessionFactory.make({
    request: (session, received, base) => {
      const { request } = received
      if (session.refuses(request.id)) return Effect.fail(McpError.interrupted("The server is shutting down"))
      const era = isModern(request) ? stateless : stateful
      return observed(() => era.handle(session, received, base), request, base === undefined)
    },
    pings: (request) => opensSessions && !isModern(request),
    sessions,
    runFork: Effect.runForkWith(context),
    nextId: () => `session-${++unnamed}`,
    limits: options.limits,
    over: (session) => limits.release(session),
    keepAlive: options.keepAlive,
    drain: options.drain
  })

  return McpServer.of({
    connect,
    dispatch: StatelessDispatch.make(stateless),
    revisions: info.revisions,
    sessions: Effect.sync(() => [...sessions]),
    elicitationComplete: (session, elicitationId) => Effect.sync(() => elicitationComplete(session, elicitationId))
  })
})

/** Builds the features on a scheduler that rounds of questions can watch. */
const buildFeatures = <E, R>({ features, limits }: Options<E, R>) =>
  Effect.flatMap(Scheduler.Scheduler, (ambient) => {
    warmUpScopes()
    return Effect.provideService(Features.build(features, limits?.tool), Scheduler.Scheduler, Replay.scheduler(ambient))
  })

const inputRounds = Effect.fnUntraced(function* ({ name, rounds }: Pick<Options<never, never>, "name" | "rounds">) {
  const guard = Option.getOrUndefined(yield* Effect.serviceOption(ReplayGuard))
  return new InputRounds.InputRounds(name, yield* sealOf, guard, rounds)
})

const elicitationComplete = (session: Session, elicitationId: string): void => {
  const { revision, clientCapabilities } = session.negotiated ?? {}
  if (revision?.serverNotifications["notifications/elicitation/complete"] === undefined) return
  if (clientCapabilities?.elicitation?.url === undefined) return
  session.notify("notifications/elicitation/complete", { elicitationId })
}

/** The seal of the context, else one with a key of this process, made by the first request that needs it. */
const sealOf: Effect.Effect<Effect.Effect<StateSeal["Service"]>, never, Scope.Scope> = Effect.gen(function* () {
  const provided = yield* Effect.serviceOption(StateSeal)
  if (Option.isSome(provided)) return Effect.succeed(provided.value)
  const scope = yield* Scope.Scope
  return yield* Effect.cached(
    Effect.map(Scope.provide(Layer.build(layerRandom()), scope), (context) => Context.get(context, StateSeal))
  )
})
