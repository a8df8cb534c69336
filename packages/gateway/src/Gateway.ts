/**
 * A server that is another one: whatever a client asks is answered by the server behind, in whichever revisions the two are spoken to.
 *
 * Each client has a conversation of its own with the server behind, which declares what that client declared, so that nothing gets to
 * another: questions, progress, logs, news and cancellations cross both ways. Not relayed: tasks, extensions, methods it does not know.
 */
import { Resume } from "@effect-mcp/client/Http"
import type * as McpClient from "@effect-mcp/client/McpClient"
import { Elicitation } from "@effect-mcp/core/Elicitation"
import { Roots } from "@effect-mcp/core/Roots"
import { Sampling } from "@effect-mcp/core/Sampling"
import type { Transport } from "@effect-mcp/core/Transport"
import * as McpServer from "@effect-mcp/server/McpServer"
import * as Middleware from "@effect-mcp/server/Middleware"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Calls from "./Calls.ts"
import * as Relay from "./Relay.ts"
import * as Translation from "./Translation.ts"
import * as Upstreams from "./Upstreams.ts"

type ServerOptions = McpServer.Options<never, never>

export interface Options<E, R> extends Pick<
  ServerOptions,
  "askTimeout" | "drain" | "keepAlive" | "limits" | "logging" | "rateLimit" | "revisions" | "rounds"
> {
  /** Opens a wire to the server behind: one for each client. */
  readonly connector: Effect.Effect<Transport, E, R>
  /** Of the clients of the server behind. */
  readonly client?: McpClient.Options | undefined
  /** How long a conversation that requests without a session used is kept for the next. Default 1 minute. */
  readonly idle?: Duration.Input | undefined
  /** Conversations with the server behind at most, of all clients together; one more is refused. Default 256. */
  readonly capacity?: number | undefined
  /**
   * How long a request waits for a server behind that is gone before it fails; meanwhile the connection is opened again. A call that the
   * server may have seen is not sent again: it fails at once, or after this time where its stream can be resumed (HTTP, 2025-11-25;
   * a connector's own option `resume` comes first). Default 1 second.
   */
  readonly reconnectTimeout?: Duration.Input | undefined
  /** How long a call that asked waits for its caller to come back with the answer (2026-07-28). Default 10 minutes. */
  readonly patience?: Duration.Input | undefined
  /** Calls that wait so at most; one more, and the one that waits longest is given up. Default 1024. */
  readonly maxWaiting?: number | undefined
}

/** What the gateway holds: for tests and for whoever watches over it. */
export class Gateway extends Context.Service<
  Gateway,
  {
    /** Conversations with the server behind that are open. */
    readonly upstreams: () => number
    /** Requests behind that run or wait. */
    readonly calls: () => number
  }
>()("@effect-mcp/gateway/Gateway") {}

const make = Effect.fnUntraced(function* <E extends { readonly message: string }, R>(options: Options<E, R>) {
  const { reconnectTimeout = "1 second" } = options
  const captured = yield* Effect.context<Exclude<R, Scope.Scope>>()
  // Whoever answers for the gateway's own surroundings does not answer for its clients.
  const services = Context.omit(Elicitation, Sampling, Roots)(captured) as Context.Context<never>
  const context = Context.add(services, Resume, { timeout: reconnectTimeout })
  const upstreams = yield* Upstreams.make(
    {
      // All that the connector needs is in the context it runs on.
      connector: options.connector as Effect.Effect<Transport, E, Scope.Scope>,
      client: { validateOutput: false, ...options.client },
      context,
      refused: new Set()
    },
    { idle: options.idle ?? "1 minute", capacity: options.capacity ?? 256 }
  )
  const calls = yield* Calls.make({
    patience: options.patience ?? "10 minutes",
    capacity: options.maxWaiting ?? 1024
  })

  return {
    middleware: Relay.make(upstreams, calls, reconnectTimeout),
    greet: ((answer, { clientCapabilities, ...who }) =>
      Effect.scoped(
        Effect.map(upstreams.acquire({ ...who, capabilities: clientCapabilities }, false), ({ client }) => ({
          ...answer,
          ...Translation.identity(client),
          serverInfo: client.serverInfo
        }))
      )) satisfies NonNullable<ServerOptions["greet"]>,
    gateway: Gateway.of({ upstreams: upstreams.size, calls: calls.size })
  }
})

/** The server behind as a server: `McpServer.serveStdio()`, `McpServer.layerHttp` and the rest serve it. */
export const layer = <E extends { readonly message: string }, R>(
  options: Options<E, R>
): Layer.Layer<McpServer.McpServer | Gateway, never, Exclude<R, Scope.Scope>> =>
  Layer.unwrap(
    Effect.map(make(options), ({ gateway, greet, middleware }) => {
      const { askTimeout, drain, keepAlive, limits, logging, rateLimit, revisions, rounds } = options
      return Layer.merge(
        Layer.succeed(Gateway, gateway),
        McpServer.layer({
          name: "effect-mcp-gateway",
          version: "0.1.0",
          features: Middleware.layer(middleware),
          dynamic: true,
          greet,
          askTimeout,
          drain,
          keepAlive,
          limits,
          rateLimit,
          // What passes is decided behind.
          logging: { level: "debug", perSecond: 1000, ...logging },
          revisions,
          // Answers travel with the state, though nobody here needs them again: how much may be asked is bounded behind.
          rounds: { rounds: 100, stateBytes: 1024 * 1024, ...rounds }
        })
      )
    })
  )
