/**
 * An MCP server: features behind a dispatcher, independent of the transport. Endpoints are built on top of it, so it contains no stdio or
 * HTTP code.
 *
 * Owns the sessions, which `SessionFactory` creates from transports.
 */
import { BusySet } from "@effect-mcp/core/internal/inFlight"
import type { KeepAlive } from "@effect-mcp/core/KeepAlive"
import type { RequestServices } from "@effect-mcp/core/RequestContext"
import type { Transport } from "@effect-mcp/core/Transport"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type * as McpError from "@effect-mcp/protocol/McpError"
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
import { type NotPortable } from "../features/Portability.ts"
import { defaultPageSize } from "../features/Pagination.ts"
import * as RateLimit from "../features/RateLimit.ts"
import { RateLimitStore } from "../features/RateLimitStore.ts"
import { BucketSync } from "../features/BucketSync.ts"
import { SharedUpdates } from "../features/SharedUpdates.ts"
import { unsubscribe } from "../features/Subscriptions.ts"
import { notBegun } from "../internal/notBegun.ts"
import { warmUpScopes } from "../internal/warmUpScopes.ts"
import * as Limits from "../Limits.ts"
import * as InputRounds from "../mrtr/InputRounds.ts"
import { scheduler } from "../mrtr/RoundInput.ts"
import { ReplayGuard } from "../mrtr/ReplayGuard.ts"
import * as Seal from "../mrtr/StateSeal.ts"
import { TaskSources, within as withinTasks } from "../request/TaskSource.ts"
import type { ChangeNotifier } from "../session/ChangeNotifier.ts"
import { Drain } from "../session/Drain.ts"
import { Nodes } from "../session/Nodes.ts"
import type { Session } from "../session/Session.ts"
import type { Contract } from "../view/Contract.ts"
import { combine } from "../view/allObservers.ts"
import { type ContractOptions, readContract } from "../view/readContract.ts"
import * as Observer from "../view/Observer.ts"
import type { Options as ReaderOptions } from "../view/RequestReader.ts"
import { type RequestsView, RequestView } from "../view/Requests.ts"
import { SessionObserver } from "../view/SessionObserver.ts"
import type { StatelessRequest } from "../view/StatelessRequest.ts"
import { Dispatcher } from "./Dispatcher.ts"
import type { OnInitialize } from "./Initialize.ts"
import * as ListChanges from "./ListChanges.ts"
import * as Logging from "./Logging.ts"
import * as Methods from "./methods.ts"
import { observed, surroundingsOf } from "./observed.ts"
import type { ClientOf } from "./ExtensionNotifications.ts"
import { NotificationRouter, type Receive } from "./NotificationRouter.ts"
import * as ServerInfo from "./ServerInfo.ts"
import * as SessionFactory from "./SessionFactory.ts"
import * as Restore from "./Restore.ts"
import { StatefulEra } from "./StatefulEra.ts"
import { isModern, StatelessEra } from "./StatelessEra.ts"
import type * as StatelessDispatch from "./StatelessDispatch.ts"

export type { ConnectOptions } from "./SessionFactory.ts"
export type { Registries } from "../features/Features.ts"
export { NotPortable, type Unportable } from "../features/Portability.ts"

export interface Options<E, R> extends ServerInfo.Options {
  /** Tools, resources, prompts and middleware, as layers. */
  readonly features: Layer.Layer<never, E, R>
  /**
   * How to treat tools that some host cannot use. `project` advertises their schemas in a form that every host accepts, and logs a warning
   * for the rest; calls are decoded by the original schemas. `off` advertises schemas as written. With `strict`, the layer fails instead of
   * logging; see `StrictOptions`. Default `project`.
   */
  readonly portability?: "project" | "off" | undefined
  /**
   * Changes the `initialize` result for a caller, for example in a gateway that responds like the server behind it. By default all callers
   * receive the same result.
   */
  readonly onInitialize?: OnInitialize | undefined
  /**
   * How to handle methods that the server doesn't know. `refused` fails with -32601. `middleware` passes them to middleware like extension
   * methods, and `next` fails with -32601; use it for gateways. Default `refused`.
   */
  readonly unknownMethods?: "refused" | "middleware" | undefined
  /** Number of items per list page. Default 100. */
  readonly pageSize?: number | undefined
  /** How long a client has to answer a question. Default 10 minutes. */
  readonly askTimeout?: Duration.Input | undefined
  readonly logging?: Logging.Options | undefined
  /** Limits on concurrent requests and held bytes, per session, per caller and in total. See `Limits` for the defaults. */
  readonly limits?: Limits.Options | undefined
  /** Requests per second for each caller, by method, or `false` to disable rate limiting. Defaults to `RateLimit.defaults`. */
  readonly rateLimit?: RateLimit.Options | false | undefined
  /** Caching hints per list (since 2026-07-28). By default, lists are private and immediately stale. */
  readonly caching?: Caching.Hints | undefined
  /** Limits on requests that ask their client in rounds (since 2026-07-28). */
  readonly rounds?: InputRounds.Options | undefined
  /** Pings initialized clients, and closes connections that don't respond. Off by default. */
  readonly keepAlive?: KeepAlive | undefined
  /** How long requests may keep running when a connection's scope closes. New requests are rejected in the meantime. Default 0. */
  readonly drain?: Duration.Input | undefined
}

/** Options for a server that fails with `NotPortable` if some host cannot use one of its tools. */
export interface StrictOptions<E, R> extends Omit<Options<E, R>, "portability"> {
  readonly portability: "strict"
}

/** A running server, connected to any number of transports. */
export interface Server {
  /** Serves a connection until it ends or the scope closes. */
  readonly connect: (
    transport: Transport,
    options?: SessionFactory.ConnectOptions
  ) => Effect.Effect<Session, never, Scope.Scope>
  /** Handles requests without a session; see `McpServer.dispatch`. */
  readonly stateless: StatelessDispatch.Options
  /** Handles a notification that arrived without a session. */
  readonly receive: Receive
  /** All supported revisions, oldest first. */
  readonly revisions: ReadonlyArray<Revision.Revision>
  readonly name: string
  readonly version: string
  /** When this server was built, in milliseconds since 1970. */
  readonly startedAt: number
  /** The server's other nodes, or `undefined` if it runs on a single node. */
  readonly nodes: Nodes["Service"] | undefined
  /** Rejects new requests and lets running ones finish, without stopping the program. For operators. */
  readonly drain: Drain
  /** Reopens a session that was open on another node. */
  readonly restore: Restore.Restore
  /** The server's observer (see `Observer.layer`). Endpoints report the requests they reject to it. */
  readonly observer: Observer.Observer | undefined
  /** The open sessions. */
  readonly sessions: Effect.Effect<ReadonlyArray<Session>>
  /**
   * All running or waiting requests, subscriptions and questions, with or without a session.
   *
   * @example
   * ```ts
   * import { McpServer } from "@effect-mcp/server"
   * import { Clock, Effect } from "effect"
   *
   * // Ends calls of a tool that run for an hour.
   * export const sweep = Effect.gen(function* () {
   *   const { requests } = yield* McpServer.McpServer
   *   const now = yield* Clock.currentTimeMillis
   *   for (const { key, method, since } of yield* requests.list) {
   *     if (method === "tools/call" && now - since > 3_600_000) yield* requests.interrupt(key, "It ran for an hour")
   *   }
   * })
   * ```
   */
  readonly requests: RequestsView
  /**
   * Returns everything the server currently offers to a principal, in its newest supported revision: tools, prompts, resources, templates
   * and extensions. It calls `visible` and mounted servers, but no handlers or middleware, so anything that middleware answers (as in a
   * gateway) is missing. Fails if a mounted server's list fails. See `Contract.diff` for an example.
   */
  readonly contract: (options?: ContractOptions) => Effect.Effect<Contract, McpError.McpError>
  /** Sends `notifications/elicitation/complete` to a client that supports URL mode elicitation. Does nothing for other clients. */
  readonly elicitationComplete: (session: Session, elicitationId: string) => Effect.Effect<void>
}

/** The `Server` service. */
export class McpServer extends Context.Service<McpServer, Server>()("@effect-mcp/server/McpServer") {}

/**
 * Builds a server from its features. Anything else that the features require remains a requirement of the layer, and the layer fails with
 * their errors. Serve it with one of the `McpServer` functions, or connect it to any `Transport`.
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
export function layer<E, R>(
  options: StrictOptions<E, R>
): Layer.Layer<McpServer, E | NotPortable, Exclude<R, Features.Registries | RequestServices>>
export function layer<E, R>(
  options: Options<E, R>
): Layer.Layer<McpServer, E, Exclude<R, Features.Registries | RequestServices>>
export function layer<E, R>(
  options: Options<E, R> | StrictOptions<E, R>
): Layer.Layer<McpServer, E | NotPortable, Exclude<R, Features.Registries | RequestServices>> {
  const { dynamic, features, limits, portability } = options
  const built =
    portability === "strict"
      ? Features.buildStrict(features, { dynamic, limits })
      : Features.build(features, { dynamic, limits, portability })
  return Layer.fromBuildMemo((_, scope) =>
    Effect.map(Scope.provide(make(options, built), scope), (server) => Context.make(McpServer, server))
  ) as Layer.Layer<McpServer, E | NotPortable, Exclude<R, Features.Registries | RequestServices>> // Scope is in RequestServices
}

type Settings = Omit<Options<never, never>, "features" | "portability">

const make = Effect.fnUntraced(function* <E, R>(options: Settings, built: Effect.Effect<Features.Features, E, R>) {
  const context = yield* Effect.context<never>()
  const clock = yield* Clock.Clock
  const { features, tasks } = yield* watchedBuild(built)
  const info = ServerInfo.make(options, features)
  const limits = new Limits.Limits(options.limits)
  const listeners = new Set<ChangeNotifier>()
  const sessions = new Set<Session>()
  const logging = Logging.make(options.logging ?? {}, clock)
  const now = Observer.timeOf(clock)
  const settling = yield* settlingOf(options.name, now)
  const rateLimit = new RateLimit.RateLimit(options.rateLimit ?? RateLimit.defaults, now, settling)
  const { askTimeout = "10 minutes", caching = {}, onInitialize, pageSize = defaultPageSize } = options
  const { extensions, instructions, name } = options
  const methods = Methods.make({ features, info, limits, listeners, pageSize })
  const answersUnknown = options.unknownMethods === "middleware"
  const dispatcher = new Dispatcher({ info, features, methods, caching, rateLimit, answersUnknown })
  const waiting = new BusySet<StatelessRequest>()
  const runFork = Effect.runForkWith(context)
  const { observe, observer } = yield* observersOf(now)
  const drain = drainOf(sessions, waiting, observer, (effect) => void runFork(effect))
  const stateful = new StatefulEra({ drain, info, dispatcher, limits, rateLimit, logging, askTimeout, onInitialize })
  const rounds = roundsOf(name, options.rounds, context)
  const stateless = new StatelessEra({ info, features, dispatcher, rateLimit, logging, rounds })
  const nodes = yield* sharedWith(features, name)
  yield* ListChanges.forward({ features, info, sessions, listeners, bus: nodes?.bus })

  const hooks = features.middleware.inbound
  const opensSessions = ServerInfo.hasSessions(info)
  const pings = (request: JsonRpc.Request) => opensSessions && !isModern(request)
  let unnamed = 0
  const requests = viewOf({ sessions, stateless: waiting, tasks, clock }, limits)
  const { changed } = requests
  const notifications = new NotificationRouter({ features, clientOf: clientOf(stateless), runFork })
  yield* Effect.addFinalizer(() => notifications.end)
  const connect = SessionFactory.make({
    request: (session, received, eager, isTraced) => {
      const { request } = received
      if (session.refuses(request.id)) return Effect.fail(notBegun)
      const era = isModern(request) ? stateless : stateful
      const traced = isTraced ? surroundingsOf(session, request, received.envelope) : undefined
      if (hooks.isEmpty) return observed(() => era.handle(session, received, eager), request, traced)
      const principal = received.envelope.principal ?? session.principal
      const isPing = request.method === "ping" && pings(request)
      const next = () => (isPing ? Effect.succeed({}) : era.handle(session, received, false))
      const answer = () => hooks.request(received, principal, session, session.closing, next)
      return observed(answer, request, traced)
    },
    pings: (request) => hooks.isEmpty && pings(request),
    notifications,
    sessions,
    changed,
    subscriptionResult: (request) => (isModern(request) ? stateless.subscriptionResult(request) : undefined),
    runFork,
    nextId: () => `session-${++unnamed}`,
    limits: options.limits,
    observer,
    observe,
    over: (session) => limits.release(session),
    keepAlive: options.keepAlive,
    drain: options.drain
  })

  yield* observer?.serves?.({ sessions, stateless: waiting, tasks, nodes }) ?? Effect.void

  return McpServer.of({
    connect,
    observer,
    stateless: { era: stateless, hooks, clock, now, requests: waiting, changed, observer, account: { buckets: [] } },
    receive: notifications.posted,
    revisions: info.revisions,
    name,
    version: options.version,
    startedAt: clock.currentTimeMillisUnsafe(),
    nodes,
    drain,
    restore: Restore.make(features, limits, info.revisions),
    sessions: Effect.sync(() => [...sessions]),
    requests,
    contract: (asked) => readContract({ name, instructions, extensions, revisions: info.revisions, features }, asked),
    elicitationComplete: (session, elicitationId) => Effect.sync(() => elicitationComplete(session, elicitationId))
  })
})

/** Combines the observers in the context. */
const observersOf = Effect.fnUntraced(function* (now: () => number) {
  const given = yield* Observer.given
  if (given.length === 0) return { observer: undefined, observe: undefined }
  const observer = combine(given)
  const observe: SessionFactory.Options["observe"] =
    observer && ((sessions) => new SessionObserver(observer, now, sessions))
  return { observer, observe }
})

const viewOf = (options: Omit<ReaderOptions, "unsubscribe">, limits: Limits.Limits): RequestView =>
  new RequestView({ ...options, unsubscribe: (session, uri) => unsubscribe(limits, session, uri) })

/** Returns the client that sent a notification: the session's client, unless the notification names a stateless revision. */
const clientOf =
  (stateless: StatelessEra): ClientOf =>
  ({ negotiated }, notification) =>
    isModern(notification) ? stateless.clientOf(notification) : negotiated

const drainOf = (
  sessions: ReadonlySet<Session>,
  waiting: Iterable<StatelessRequest>,
  observer: Observer.Observer | undefined,
  fork: (effect: Effect.Effect<void>) => void
): Drain => {
  const isBusy = () => [...waiting].some(({ isSubscription }) => !isSubscription)
  return new Drain({ sessions, isBusy, begins: () => observer?.drains?.(), fork })
}

/** Returns the bucket sync, or `undefined` if each node counts on its own. */
const settlingOf = Effect.fnUntraced(function* (server: string, now: () => number) {
  const store = Option.getOrUndefined(yield* Effect.serviceOption(RateLimitStore))
  if (store === undefined) return undefined
  return yield* BucketSync.make(store, server, now)
})

/** Connects to the other nodes, and sends them resource updates from then on. */
const sharedWith = Effect.fnUntraced(function* ({ resources }: Features.Features, name: string) {
  const nodes = Option.getOrUndefined(yield* Effect.serviceOption(Nodes))
  if (nodes === undefined) return undefined
  yield* resources.share((watch) => SharedUpdates.make(nodes.bus, name, watch))
  return nodes
})

/** Creates the input rounds. Without a configured key, the first request that asks creates a key for this process. */
const roundsOf = (
  name: string,
  options: InputRounds.Options | undefined,
  context: Context.Context<never>
): InputRounds.InputRounds => {
  const seal = Context.getOrUndefined(context, Seal.StateSeal)
  const sealing = seal === undefined ? Seal.shared() : Effect.succeed(seal)
  return new InputRounds.InputRounds(name, sealing, Context.getOrUndefined(context, ReplayGuard), options)
}

/** Builds the features on a scheduler that the input rounds can watch. */
const watchedBuild = <E, R>(built: Effect.Effect<Features.Features, E, R>) =>
  Effect.flatMap(Scheduler.Scheduler, (ambient) => {
    warmUpScopes()
    const tasks = new TaskSources()
    const services = Context.add(withinTasks(tasks), Scheduler.Scheduler, scheduler(ambient))
    return Effect.map(Effect.provideContext(built, services), (features) => ({ features, tasks }))
  })

const elicitationComplete = (session: Session, elicitationId: string): void => {
  const { revision, clientCapabilities } = session.negotiated ?? {}
  if (revision?.serverNotifications["notifications/elicitation/complete"] === undefined) return
  if (clientCapabilities?.elicitation?.url === undefined) return
  session.notify("notifications/elicitation/complete", { elicitationId })
}
