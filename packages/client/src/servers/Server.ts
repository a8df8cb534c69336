/**
 * A server in a table: its connection, options and services.
 *
 * `services` is built separately for each server, every time its client is created. It can hold credentials and answer the server's
 * questions.
 */
import type { Transport } from "@effect-mcp/core/Transport"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type { Client, ConnectError, Options as ClientOptions } from "../Client.ts"
import * as ClientObserver from "../connection/ClientObserver.ts"
import { imported } from "../internal/imported.ts"
import * as McpClient from "../McpClient.ts"
import type * as Http from "../transport/Http.ts"
import * as Stdio from "../transport/Stdio.ts"
import * as Answers from "./Answers.ts"

/** Notified when a connection opens and when it ends. */
type Observer = Required<Pick<ClientObserver.ClientObserver, "opened" | "closed">>

/** A server in a table, created with `stdio`, `http` or `server`. */
export interface TableServer<out E, out R> {
  /** Opens a client for the server. It closes with the scope. */
  readonly open: (name: string, observer: Observer) => Effect.Effect<Client, E, R | Scope.Scope>
}

/** Options shared by all kinds of servers. */
export interface Common<A = never, E = never, R = never> {
  /** Client options. By default, `reconnect` makes two attempts, after which the supervisor takes over. */
  readonly client?: ClientOptions | undefined
  /**
   * Services for this server only, such as an `HttpClient` with credentials or an `Elicitation` that answers its questions. They override
   * the services in the context. Default none.
   */
  readonly services?: Layer.Layer<A, E, R> | undefined
}

/** Reconnects immediately and once more a moment later. After that the supervisor retries with growing delays. */
const reconnect = { attempts: 2 }

/**
 * Creates a server from a connector that opens its transports.
 *
 * @example
 * ```ts
 * import * as McpClients from "@effect-mcp/client/McpClients"
 * import { Socket } from "@effect-mcp/client"
 *
 * export const servers = { clock: McpClients.server({ connector: Socket.connector() }) }
 * ```
 */
export const server = <E, R, A = never, E2 = never, R2 = never>(
  options: Common<A, E2, R2> & { readonly connector: Effect.Effect<Transport, E, R> }
): TableServer<NoInfer<E | E2> | ConnectError, Exclude<R, A | Scope.Scope> | NoInfer<R2>> => {
  const services: Layer.Layer<A, E2, R2> | Layer.Layer<never> = options.services ?? Layer.empty
  const clientOptions = { reconnect, ...options.client }
  return {
    open: Effect.fnUntraced(function* (name, observer) {
      const own = yield* Layer.build(services)
      const observers = yield* Layer.build(ClientObserver.layer(Effect.succeed(observer)))
      const given = Context.merge(yield* Effect.context<Exclude<R, A | Scope.Scope>>(), own)
      const context = Context.merge(Answers.named(given, name), observers)
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `context` has the connector's requirements except for the scope
      const connector = options.connector as Effect.Effect<Transport, E, Scope.Scope>
      return yield* Effect.provideContext(McpClient.open(connector, clientOptions), context)
    })
  }
}

/** Creates a server that runs as a child process and is restarted if it exits. */
export const stdio = <A = never, E = never, R = never>(
  options: Stdio.Options & Common<A, E, R>
): TableServer<NoInfer<E> | ConnectError, Exclude<Stdio.Requirements | Scope.Scope, A | Scope.Scope> | NoInfer<R>> =>
  server({ ...common(options), connector: Stdio.open(options) })

/** Creates a server at a URL. */
export const http = <A = never, E = never, R = never>(
  options: Http.Options & Common<A, E, R>
): TableServer<NoInfer<E> | ConnectError, Exclude<Http.Requirements | Scope.Scope, A | Scope.Scope> | NoInfer<R>> =>
  server({
    ...common(options),
    // Loaded on first use, so that programs with only child processes do not load HTTP.
    connector: Effect.flatMap(
      imported(() => import("../transport/Http.ts")),
      ({ open }) => open(options)
    )
  })

const common = <A, E, R>({ client, services }: Common<A, E, R>): Common<A, E, R> => ({ client, services })
