/**
 * A server that forwards every request to another server, called the upstream server. Each side may use any protocol revision.
 *
 * Each client has its own connection to the upstream server, which sees that client's capabilities. Questions, progress, logs, notifications
 * and cancellations are forwarded in both directions. Extension declarations and messages with unknown methods are forwarded unchanged;
 * `Translation` decides which of them can cross between eras.
 *
 * If the upstream server creates a task, the gateway follows it to its result. If the caller supports tasks, the gateway returns a task of
 * its own instead (`Tasks`).
 *
 * Notifications from clients without a session are not forwarded.
 */
import * as ClientExtension from "@effect-mcp/client/ClientExtension"
import { Resume } from "@effect-mcp/client/Http"
import type * as McpClient from "@effect-mcp/client/McpClient"
import type * as Extension from "@effect-mcp/core/Extension"
import { Elicitation } from "@effect-mcp/core/Elicitation"
import { Roots } from "@effect-mcp/core/Roots"
import { boundsOf } from "@effect-mcp/core/internal/inFlight"
import { Sampling } from "@effect-mcp/core/Sampling"
import { type Transport, TransportError } from "@effect-mcp/core/Transport"
import * as McpServer from "@effect-mcp/server/McpServer"
import * as Middleware from "@effect-mcp/server/Middleware"
import type * as Tasks from "@effect-mcp/tasks/Tasks"
import type * as TaskStore from "@effect-mcp/tasks/TaskStore"
import * as TaskMaker from "@effect-mcp/tasks/internal/TaskMaker"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as ClientNotifications from "./downstream/ClientNotifications.ts"
import * as Relay from "./downstream/Relay.ts"
import * as GatewayTasks from "./tasks/Tasks.ts"
import * as Path from "./Path.ts"
import * as Translation from "./Translation.ts"
import * as UpstreamCalls from "./upstream/UpstreamCalls.ts"
import * as Upstreams from "./upstream/Upstreams.ts"

type ServerOptions = McpServer.Options<never, never>

export interface Options<E, R> extends Pick<
  ServerOptions,
  "askTimeout" | "drain" | "keepAlive" | "limits" | "logging" | "rateLimit" | "revisions" | "rounds"
> {
  /** Opens a connection to the upstream server. Called once per client, and again as the pool of `capacity` requires. */
  readonly connector: Effect.Effect<Transport, E, R>
  /** Options for the clients that connect to the upstream server. Default: the same as `McpClient`, but without result validation. */
  readonly client?: McpClient.Options | undefined
  /**
   * Extensions whose `Mcp-Name` header the gateway should handle (2026-07-28 over HTTP). All extensions are forwarded, but for these the
   * gateway knows which param the header mirrors. It rejects a request whose header doesn't match and adds the header if the caller omitted
   * it. Default none.
   */
  readonly extensions?: ReadonlyArray<Extension.Any> | undefined
  /**
   * Limits for the tasks the gateway creates on behalf of upstream tasks: how many to keep, and for how long. They are kept in this
   * process's memory. Default: the same as `Tasks.layer`.
   */
  readonly tasks?: (Tasks.Options & Partial<TaskStore.StoreLimits>) | undefined
  /** How long to keep an upstream connection open after the last request without a session. Default 1 minute. */
  readonly idle?: Duration.Input | undefined
  /**
   * Maximum number of connections to the upstream server. When the limit is reached, the gateway closes an idle connection of the caller that
   * holds the most. If no connection is idle, it rejects the request. Default 256.
   */
  readonly capacity?: number | undefined
  /**
   * Largest share of `capacity` and `maxWaiting` that a single caller may use, from 0 to 1. Callers are identified by principal, or else by
   * address. Callers with neither, such as stdio clients, are not limited. Default 0.5.
   */
  readonly callerShare?: number | undefined
  /**
   * How long a request waits for a lost upstream connection to be reopened. A call the server may have already seen is not resent. It fails
   * immediately, or after this time if its stream can be resumed (Streamable HTTP up to 2025-11-25; a connector's `resume` option takes
   * precedence). Default 1 second.
   */
  readonly reconnectTimeout?: Duration.Input | undefined
  /** How long a call that asked a question waits for the next round of its request (2026-07-28). Default 10 minutes. */
  readonly roundTimeout?: Duration.Input | undefined
  /**
   * Maximum number of calls waiting for their next round. When the limit is reached, the gateway cancels the longest-waiting call of the
   * caller with the most waiting calls. Default 1024.
   */
  readonly maxWaiting?: number | undefined
  /**
   * Set this if the upstream server may be replaced by another version while clients stay connected. The gateway then declares every list
   * and announces that it may change. Lists the upstream server doesn't have are empty. Default false: declares the same lists as the
   * upstream server.
   */
  readonly changingLists?: boolean | undefined
  /**
   * How to treat tools that some host cannot use. `project` rewrites their schemas into a form that every host accepts, and restores the
   * argument names of calls, for which the gateway reads the tool list. `off` forwards all schemas unchanged. Default `off`.
   */
  readonly portability?: "project" | "off" | undefined
  /** Runs around every request except `initialize` and `ping`, before the gateway forwards it. */
  readonly middleware?: Middleware.Middleware | undefined
}

/** Counts of open upstream connections and calls, for tests and metrics. */
export class Gateway extends Context.Service<
  Gateway,
  {
    /** Number of open connections to the upstream server. */
    readonly upstreams: () => number
    /** Number of upstream requests that are running or waiting for a round. */
    readonly calls: () => number
  }
>()("@effect-mcp/gateway/Gateway") {}

const requestsOf = ({ requests }: Extension.Any): ReadonlyArray<Extension.Request<unknown, unknown, unknown>> =>
  Object.values(requests)

const around =
  (outer: Middleware.Middleware, inner: Middleware.Middleware): Middleware.Middleware =>
  (request, next, proceed) => {
    const relayed: Middleware.Proceed = (changed) => inner(changed, proceed(changed), proceed)
    return outer(request, inner(request, next, proceed), relayed)
  }

/** Limits how long connecting may take. A connector that hangs would otherwise hold its caller's connection forever. */
const bounded = <E>(
  connector: Effect.Effect<Transport, E, Scope.Scope>,
  duration: Duration.Input = "60 seconds"
): Effect.Effect<Transport, E | TransportError, Scope.Scope> =>
  Effect.timeoutOrElse(connector, {
    duration,
    orElse: () =>
      Effect.fail(
        new TransportError({ reason: "Open", message: "The gateway timed out while connecting to its upstream server" })
      )
  })

const make = Effect.fnUntraced(function* <E extends { readonly message: string }, R>(options: Options<E, R>) {
  const {
    callerShare = 0.5,
    changingLists = false,
    middleware,
    portability = "off",
    reconnectTimeout = "1 second"
  } = options
  const captured = yield* Effect.context<Exclude<R, Scope.Scope>>()
  // The gateway's own user, model, roots and extensions must not answer for its clients.
  const services = Context.omit(
    Elicitation,
    Sampling,
    Roots
  )(ClientExtension.omitAll(captured)) as Context.Context<never>
  const context = Context.add(services, Resume, { timeout: reconnectTimeout })
  const upstreams = yield* Upstreams.make(
    {
      id: globalThis.crypto.randomUUID(),
      // `context` has everything that the connector requires.
      connector: bounded(options.connector as Effect.Effect<Transport, E, Scope.Scope>, options.client?.timeout),
      client: { validateOutput: false, ...options.client },
      projects: portability === "project",
      context,
      unsupported: new Set()
    },
    { idle: options.idle ?? "1 minute", capacity: boundsOf(options.capacity ?? 256, callerShare) }
  )
  const calls = yield* UpstreamCalls.make({
    roundTimeout: options.roundTimeout ?? "10 minutes",
    capacity: boundsOf(options.maxWaiting ?? 1024, callerShare)
  })

  const tasks = yield* TaskMaker.makeMemory(options.tasks ?? {})
  const requests = (options.extensions ?? []).flatMap(requestsOf)
  const nameParams = new Map(
    requests.flatMap(({ method, nameParam }) => (nameParam === undefined ? [] : [[method, nameParam]]))
  )

  const relay = Relay.make({ upstreams, calls, changingLists, reconnectTimeout, nameParams, tasks })
  return {
    middleware: middleware === undefined ? relay : around(middleware, relay),
    inbound: ClientNotifications.relay(upstreams),
    onInitialize: ((answer, { clientCapabilities, meta, ...who }) =>
      Effect.scoped(
        Effect.map(
          upstreams.acquire({ ...who, path: Path.of(meta), capabilities: clientCapabilities }, false),
          ({ client }) => {
            const { capabilities, ...identity } = Translation.identity(client, who.revision, changingLists)
            return {
              ...answer,
              ...identity,
              capabilities: GatewayTasks.offered(capabilities, client, answer.capabilities),
              serverInfo: client.serverInfo
            }
          }
        )
      )) satisfies NonNullable<ServerOptions["onInitialize"]>,
    methods: GatewayTasks.methods(tasks, upstreams.tasks),
    gateway: Gateway.of({ upstreams: upstreams.size, calls: calls.size })
  }
})

/**
 * Provides the upstream server as an `McpServer`, which you can serve over any transport.
 *
 * Requests fail with the upstream server's own `McpError`, or with -32603 if the upstream server can't be reached.
 *
 * @example
 * ```ts
 * import { Http } from "@effect-mcp/client"
 * import { Gateway } from "@effect-mcp/gateway"
 * import { McpServer } from "@effect-mcp/server"
 * import { Layer } from "effect"
 * import { FetchHttpClient } from "effect/http"
 *
 * const gateway = Gateway.layer({ connector: Http.open({ url: "http://127.0.0.1:3000/mcp" }) })
 *
 * export const program = McpServer.runStdio(Layer.provide(gateway, FetchHttpClient.layer))
 * ```
 */
export const layer = <E extends { readonly message: string }, R>(
  options: Options<E, R>
): Layer.Layer<McpServer.McpServer | Gateway, never, Exclude<R, Scope.Scope>> =>
  Layer.unwrap(
    Effect.map(make(options), ({ gateway, inbound, methods, middleware, onInitialize }) => {
      const { askTimeout, drain, keepAlive, limits, logging, rateLimit, revisions, rounds } = options
      return Layer.merge(
        Layer.succeed(Gateway, gateway),
        McpServer.layer({
          name: "effect-mcp-gateway",
          version: "0.1.0",
          features: Layer.mergeAll(Middleware.layer(middleware), Middleware.inbound(inbound), methods),
          dynamic: true,
          unknownMethods: "middleware",
          onInitialize,
          askTimeout,
          drain,
          keepAlive,
          limits,
          rateLimit,
          // The upstream server decides which messages to send.
          logging: { level: "debug", perSecond: 1000, ...logging },
          revisions,
          // The upstream server limits its questions, so the state may carry as many answers as it needs.
          rounds: { rounds: 100, stateBytes: 1024 * 1024, ...rounds }
        })
      )
    })
  )
