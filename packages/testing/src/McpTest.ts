/**
 * Connects a client and a server within one process, exchanging real JSON text. Covers the whole protocol in any revision, without I/O.
 *
 * The client declares `Elicitation`, `Sampling` and `Roots` if the test's context provides them. Services required by the features come
 * from the same context.
 */
import * as McpClient from "@effect-mcp/client/McpClient"
import * as Memory from "@effect-mcp/core/Memory"
import type { Principal } from "@effect-mcp/core/Principal"
import type { RequestServices } from "@effect-mcp/core/RequestContext"
import type { Transport } from "@effect-mcp/core/Transport"
import * as Revision from "@effect-mcp/protocol/Revision"
import * as McpServer from "@effect-mcp/server/McpServer"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"

/** Reasons why a client could not connect. */
export type TestConnectError = McpClient.ConnectError

/** Options for the client, the server and the connection between them. */
export interface Options {
  /** Client options. By default, the client offers only the given revision. */
  readonly client?: McpClient.Options | undefined
  /** Server options. By default, the server's name is `test`. */
  readonly server?: Partial<Omit<McpServer.Options<never, never>, "features">> | undefined
  /** The user the server sees. Default: an anonymous user. */
  readonly principal?: Principal["Service"] | undefined
  /** The transports that connect the two. Default: in memory. */
  readonly wire?: Effect.Effect<readonly [client: Transport, server: Transport], never, Scope.Scope> | undefined
}

const versionOf = (revision: Revision.Revision | Revision.Version): Revision.Version =>
  typeof revision === "string" ? revision : revision.version

/** Connects a client to the server in the context, using this revision. You can connect several clients to one server. */
export const join = Effect.fnUntraced(function* (
  revision: Revision.Revision | Revision.Version,
  options: Pick<Options, "client" | "principal" | "wire"> = {}
): Effect.fn.Return<McpClient.Client, TestConnectError, McpServer.McpServer | Scope.Scope> {
  const server = yield* McpServer.McpServer
  const [clientEnd, serverEnd] = yield* options.wire ?? Memory.pair()
  yield* server.connect(serverEnd, { principal: options.principal })
  return yield* McpClient.connect(clientEnd, { revisions: [versionOf(revision)], ...options.client })
})

/**
 * Starts a server with these features and connects a client to it, using this revision. Both close with the scope.
 *
 * @example
 * ```ts
 * import { Tool, Tools } from "@effect-mcp/core"
 * import { McpTest } from "@effect-mcp/testing"
 * import { Effect, Schema } from "effect"
 *
 * const Add = Tool.make("add", {
 *   description: "Adds two numbers",
 *   input: { a: Schema.Finite, b: Schema.Finite },
 *   output: { sum: Schema.Finite }
 * })
 * const add = Tools.layer(Add, ({ a, b }) => Effect.succeed({ sum: a + b }))
 *
 * const test = Effect.gen(function* () {
 *   const client = yield* McpTest.connect(add, "2025-06-18")
 *   const { sum } = yield* client.callTool(Add, { a: 1, b: 2 })
 *   console.log(sum) // => 3
 * })
 *
 * await Effect.runPromise(Effect.scoped(test))
 * ```
 */
export const connect = Effect.fnUntraced(function* <E, R>(
  features: Layer.Layer<never, E, R>,
  revision: Revision.Revision | Revision.Version,
  options: Options = {}
): Effect.fn.Return<
  McpClient.Client,
  E | TestConnectError,
  Scope.Scope | Exclude<R, McpServer.Registries | RequestServices>
> {
  const server = yield* Layer.build(McpServer.layer({ name: "test", version: "0.0.0", ...options.server, features }))
  return yield* Effect.provideService(
    join(revision, options),
    McpServer.McpServer,
    Context.get(server, McpServer.McpServer)
  )
})

/**
 * Like `connect`, but as a layer for tests that take the client from the context. Default revision: the newest one that has sessions.
 *
 * @example
 * ```ts
 * import { McpClient } from "@effect-mcp/client"
 * import { Prompt, Prompts } from "@effect-mcp/core"
 * import { McpTest } from "@effect-mcp/testing"
 * import { Console, Effect, Stream } from "effect"
 *
 * const hello = Prompts.layer(Prompt.make("hello"), () => Effect.succeed("Say hello"))
 *
 * const test = Effect.gen(function* () {
 *   const client = yield* McpClient.McpClient
 *   yield* Stream.runForEach(client.listPrompts, ({ name }) => Console.log(name)) // => hello
 * })
 *
 * await Effect.runPromise(Effect.provide(test, McpTest.layer(hello)))
 * ```
 */
export const layer = <E, R>(
  features: Layer.Layer<never, E, R>,
  revision: Revision.Revision | Revision.Version = Revision.latestStateful,
  options?: Options
): Layer.Layer<
  McpClient.McpClient,
  E | TestConnectError,
  Exclude<Exclude<R, McpServer.Registries | RequestServices>, Scope.Scope>
> => Layer.effect(McpClient.McpClient, connect(features, revision, options))
