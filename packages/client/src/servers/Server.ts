/**
 * One server of a table: how it is connected to, with which options, and which services are its own.
 *
 * `services` is built for this server alone, each time that its client is made: credentials, and answers to its questions.
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

/** What a server's client tells: that a connection is open, and that it has ended. */
type Observer = Required<Pick<ClientObserver.ClientObserver, "opened" | "closed">>

/** A server of a table. Made by `stdio`, `http` or `server`. */
export interface TableServer<out E, out R> {
  /** Makes the client of the server, for as long as the scope. */
  readonly open: (name: string, observer: Observer) => Effect.Effect<Client, E, R | Scope.Scope>
}

/** What every server of a table may have, beside how it is connected to. */
export interface Common<A = never, E = never, R = never> {
  /** Options of its client. `reconnect` has two attempts by default: the supervisor of the server tries further. */
  readonly client?: ClientOptions | undefined
  /**
   * Services of this server alone, such as an `HttpClient` with its credentials, or an `Elicitation` that answers it; they come before those
   * of the context. Default: those of the context.
   */
  readonly services?: Layer.Layer<A, E, R> | undefined
}

/** A lost connection is opened again at once, and a moment later; then the supervisor waits longer and longer. */
const reconnect = { attempts: 2 }

/**
 * A server over the transports of a connector.
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
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `context` has what the connector requires beside the scope
      const connector = options.connector as Effect.Effect<Transport, E, Scope.Scope>
      return yield* Effect.provideContext(McpClient.open(connector, clientOptions), context)
    })
  }
}

/** A server that is started as a child process, and again when it has ended. */
export const stdio = <A = never, E = never, R = never>(
  options: Stdio.Options & Common<A, E, R>
): TableServer<NoInfer<E> | ConnectError, Exclude<Stdio.Requirements | Scope.Scope, A | Scope.Scope> | NoInfer<R>> =>
  server({ ...common(options), connector: Stdio.open(options) })

/** A server at a URL. */
export const http = <A = never, E = never, R = never>(
  options: Http.Options & Common<A, E, R>
): TableServer<NoInfer<E> | ConnectError, Exclude<Http.Requirements | Scope.Scope, A | Scope.Scope> | NoInfer<R>> =>
  server({
    ...common(options),
    // Loaded when needed: a program that starts processes does not load HTTP.
    connector: Effect.flatMap(
      imported(() => import("../transport/Http.ts")),
      ({ open }) => open(options)
    )
  })

const common = <A, E, R>({ client, services }: Common<A, E, R>): Common<A, E, R> => ({ client, services })
