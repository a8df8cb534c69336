/**
 * A server that forwards every request to another server, the upstream server; each side speaks any revision.
 *
 * Each client has its own conversation with the upstream server, which declares what that client declared. Questions, progress, logs,
 * notifications and cancellations cross in both directions. So do the messages of methods that the gateway does not know, untouched, and
 * the declarations of extensions: `Translation` says which of them cross between eras.
 *
 * A task of the upstream server is followed to its end, or becomes a task of the gateway where its caller can have tasks (`Tasks`).
 *
 * Not relayed: notifications of clients without a session.
 */
import * as ClientExtension from "@effect-mcp/client/ClientExtension"
import { Resume } from "@effect-mcp/client/Http"
import type * as McpClient from "@effect-mcp/client/McpClient"
import type * as Extension from "@effect-mcp/core/Extension"
import { Elicitation } from "@effect-mcp/core/Elicitation"
import { Roots } from "@effect-mcp/core/Roots"
import { boundsOf } from "@effect-mcp/core/internal/Shares"
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
  /** Opens a connection to the upstream server: one for each client, and more as the pool of `capacity` needs them. */
  readonly connector: Effect.Effect<Transport, E, R>
  /** Options of the clients of the upstream server. Default: those of `McpClient`, without validation of results. */
  readonly client?: McpClient.Options | undefined
  /**
   * Extensions that callers use through the gateway. All extensions cross; of these the gateway also knows which param the header `Mcp-Name`
   * mirrors (2026-07-28 over HTTP): it refuses a request whose header differs, and adds the header where the caller has none. Default none.
   */
  readonly extensions?: ReadonlyArray<Extension.Any> | undefined
  /**
   * Tasks that the gateway makes for its callers of those of the upstream server: how long they are kept, and how many. They are in the memory
   * of this process. Default: as `Tasks.layer`.
   */
  readonly tasks?: (Tasks.Options & Partial<TaskStore.StoreLimits>) | undefined
  /** How long a conversation is kept after the last request without a session. Default 1 minute. */
  readonly idle?: Duration.Input | undefined
  /**
   * Conversations with the upstream server at most. For one more, an idle one of the caller that holds the most is closed; if there is
   * none, the request is refused. Default 256.
   */
  readonly capacity?: number | undefined
  /**
   * How much of `capacity` and `maxWaiting` one caller may take, from 0 to 1: a principal, or else an address. Callers without either, as
   * over stdio, are not limited. Default 0.5.
   */
  readonly callerShare?: number | undefined
  /**
   * How long a request waits for an upstream server that is lost, while the connection is opened again. A call that the server may have
   * seen is not sent again: it fails at once, or after this time where its stream can be resumed (Streamable HTTP to 2025-11-25; the
   * option `resume` of a connector comes first). Default 1 second.
   */
  readonly reconnectTimeout?: Duration.Input | undefined
  /** How long a call that asked a question waits for the request's next round (2026-07-28). Default 10 minutes. */
  readonly roundTimeout?: Duration.Input | undefined
  /**
   * Calls that wait for a round at most. For one more, the call that has waited longest is cancelled, of the caller with most of them.
   * Default 1024.
   */
  readonly maxWaiting?: number | undefined
  /**
   * For an upstream server that another version may replace while clients stay: all lists are declared, and that they change; one that the
   * upstream server lacks is empty. Default false: what the upstream server declares.
   */
  readonly changingLists?: boolean | undefined
  /** Runs around every request but `initialize` and `ping`, before it is relayed. */
  readonly middleware?: Middleware.Middleware | undefined
}

/** How much the gateway holds at the moment, for tests and metrics. */
export class Gateway extends Context.Service<
  Gateway,
  {
    /** Open conversations with the upstream server. */
    readonly upstreams: () => number
    /** Upstream requests that run or wait for a round. */
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

/** A connector that hangs would hold a conversation of its caller for ever. */
const bounded = <E>(
  connector: Effect.Effect<Transport, E, Scope.Scope>,
  duration: Duration.Input = "60 seconds"
): Effect.Effect<Transport, E | TransportError, Scope.Scope> =>
  Effect.timeoutOrElse(connector, {
    duration,
    orElse: () =>
      Effect.fail(
        new TransportError({ reason: "Open", message: "The connector of the gateway did not return in time" })
      )
  })

const make = Effect.fnUntraced(function* <E extends { readonly message: string }, R>(options: Options<E, R>) {
  const { callerShare = 0.5, changingLists = false, middleware, reconnectTimeout = "1 second" } = options
  const captured = yield* Effect.context<Exclude<R, Scope.Scope>>()
  // The gateway's own user, model, roots and extensions do not answer for its clients.
  const services = Context.omit(
    Elicitation,
    Sampling,
    Roots
  )(ClientExtension.omitAll(captured)) as Context.Context<never>
  const context = Context.add(services, Resume, { timeout: reconnectTimeout })
  const upstreams = yield* Upstreams.make(
    {
      id: globalThis.crypto.randomUUID(),
      // `context` holds all that the connector requires.
      connector: bounded(options.connector as Effect.Effect<Transport, E, Scope.Scope>, options.client?.timeout),
      client: { validateOutput: false, ...options.client },
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
 * The upstream server as an `McpServer`, to be served over any transport.
 *
 * Requests fail with the upstream server's own `McpError`, or with -32603 where that server cannot be reached.
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
          // The upstream server decides which messages it sends.
          logging: { level: "debug", perSecond: 1000, ...logging },
          revisions,
          // The upstream server bounds its questions, so the state may carry as many answers as it takes.
          rounds: { rounds: 100, stateBytes: 1024 * 1024, ...rounds }
        })
      )
    })
  )
