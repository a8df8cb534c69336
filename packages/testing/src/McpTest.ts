/**
 * A client and a server in one process, with real JSON text between them: the whole protocol, any revision, no I/O.
 *
 * The client lets the server ask what the test's own context offers: provide `Elicitation`, `Sampling` or `Roots` to the test, and the
 * client declares it. The user's services that the features need come from there, too.
 */
import * as McpClient from "@effect-mcp/client/McpClient"
import * as Memory from "@effect-mcp/core/Memory"
import type { RequestServices } from "@effect-mcp/core/RequestContext"
import type { Transport } from "@effect-mcp/core/Transport"
import * as Revision from "@effect-mcp/protocol/Revision"
import * as McpServer from "@effect-mcp/server/McpServer"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"

export type ConnectError = McpClient.ConnectError

export interface Options {
  readonly client?: McpClient.Options | undefined
  readonly server?: Partial<Omit<McpServer.Options<never, never>, "features">> | undefined
  /** The wire between them. Default: in memory. */
  readonly wire?: Effect.Effect<readonly [client: Transport, server: Transport], never, Scope.Scope> | undefined
}

const versionOf = (revision: Revision.Revision | Revision.Version): Revision.Version =>
  typeof revision === "string" ? revision : revision.version

/** A client, speaking that revision, of the server in the context. Any number of them may be connected to one server. */
export const join = Effect.fnUntraced(function* (
  revision: Revision.Revision | Revision.Version,
  options: Pick<Options, "client" | "wire"> = {}
): Effect.fn.Return<McpClient.Client, ConnectError, McpServer.McpServer | Scope.Scope> {
  const server = yield* McpServer.McpServer
  const [clientEnd, serverEnd] = yield* options.wire ?? Memory.pair()
  yield* server.connect(serverEnd)
  return yield* McpClient.connect(clientEnd, { revisions: [versionOf(revision)], ...options.client })
})

/** A server of these features and a client of it, speaking that revision. Both end with the scope. */
export const connect = Effect.fnUntraced(function* <E, R>(
  features: Layer.Layer<never, E, R>,
  revision: Revision.Revision | Revision.Version,
  options: Options = {}
): Effect.fn.Return<
  McpClient.Client,
  E | ConnectError,
  Scope.Scope | Exclude<R, McpServer.Registries | RequestServices>
> {
  const server = yield* Layer.build(McpServer.layer({ name: "test", version: "0.0.0", ...options.server, features }))
  return yield* Effect.provideService(
    join(revision, options),
    McpServer.McpServer,
    Context.get(server, McpServer.McpServer)
  )
})

/** The same as a layer, for test bodies that take their client from the context. */
export const layer = <E, R>(
  features: Layer.Layer<never, E, R>,
  revision: Revision.Revision | Revision.Version = Revision.latestStateful,
  options?: Options
): Layer.Layer<
  McpClient.McpClient,
  E | ConnectError,
  Exclude<Exclude<R, McpServer.Registries | RequestServices>, Scope.Scope>
> => Layer.effect(McpClient.McpClient, connect(features, revision, options))
