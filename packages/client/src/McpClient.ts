/**
 * Entry point of the client package. Opens clients as effects or layers, and exposes a server's tools, resources, prompts and completions
 * through the same services a server uses for its own features.
 */
import { Completions } from "@effect-mcp/core/Completions"
import { Prompts } from "@effect-mcp/core/Prompts"
import { Resources } from "@effect-mcp/core/Resources"
import { Tools } from "@effect-mcp/core/Tools"
import type { Transport } from "@effect-mcp/core/Transport"
import { excerpt } from "@effect-mcp/protocol/Excerpt"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { type Client, type ConnectError, McpClient, type Options } from "./Client.ts"
import * as Connection from "./connection/Connection.ts"
import * as Fetch from "./transport/Fetch.ts"
import type * as Http from "./transport/Http.ts"
import * as Socket from "./transport/Socket.ts"
import type * as Sse from "./transport/Sse.ts"
import * as Stdio from "./transport/Stdio.ts"
import { make } from "./makeClient.ts"
import { stateful } from "./connection/allowed.ts"
import { imported } from "./internal/imported.ts"
import * as Sources from "./mount/Sources.ts"

export type { CallEvent } from "./features/Calls.ts"
export type { ClientError } from "./ClientError.ts"
export type { CallOptions } from "./CallOptions.ts"
export type { RetryPolicy as Policy } from "./connection/Backoff.ts"
export type { ExtensionCalls, ListenEvent, Raw, RawNotification, RawOptions } from "./extension/ExtensionCalls.ts"
export type { StartOptions, TaskHandle } from "./tasks/TaskHandle.ts"
export type { TaskState, TaskStatus } from "./tasks/TaskState.ts"
export type { WatchEvent } from "./features/Watch.ts"
export { type ChangeMembers, changesOf, type ListMembers, listOf } from "./features/ListMembers.ts"
export { type Announcement, type Client, type ConnectError, McpClient, type Options } from "./Client.ts"

/**
 * Connects a client over an open transport. The caller owns the transport, so the client neither closes it nor reopens it if the connection
 * is lost.
 *
 * Fails with a `ConnectError`: either the `TransportError`, `Timeout` or `Closed` that ended the handshake, or `UnsupportedRevision`.
 * Throws a `TypeError` if `transport` is not a transport.
 *
 * @example
 * ```ts
 * import { McpClient } from "@effect-mcp/client"
 * import { Memory } from "@effect-mcp/core"
 * import { McpServer } from "@effect-mcp/server"
 * import { Effect, Layer } from "effect"
 *
 * const program = Effect.gen(function* () {
 *   const server = yield* McpServer.McpServer
 *   const [near, far] = yield* Memory.pair()
 *   yield* server.connect(far)
 *   const client = yield* McpClient.connect(near)
 *   console.log(client.serverInfo.name)
 *   // => example
 * })
 *
 * const server = McpServer.layer({ name: "example", version: "1.0.0", features: Layer.empty })
 * await Effect.runPromise(Effect.scoped(Effect.provide(program, server)))
 * ```
 */
export const connect = (transport: Transport, options?: Options): Effect.Effect<Client, ConnectError, Scope.Scope> => {
  checkTransport(transport)
  return make((wanted) => Connection.make(transport, wanted), false, options)
}

/** Throws if a JavaScript caller passes something else, such as a server URL. */
const checkTransport = (given: unknown): void => {
  if (typeof given === "object" && given !== null && "incoming" in given && "sink" in given) return
  const found = typeof given === "string" ? excerpt(JSON.stringify(given)) : given === null ? "null" : typeof given
  throw new TypeError(
    `McpClient.connect expects a Transport, but received ${found}. ` +
      "For a URL, use McpClient.layerHttp({ url }); for a command, use McpClient.layerStdio({ command })"
  )
}

/**
 * Opens a client that owns its transport. If the connection is lost, the client opens a new transport, unless `Options.reconnect` is false.
 * Fails if the first connection attempt fails.
 */
export const open = <E, R>(
  connector: Effect.Effect<Transport, E, R>,
  options?: Options
): Effect.Effect<Client, ConnectError | E, Exclude<R, Scope.Scope> | Scope.Scope> =>
  make((wanted) => Connection.open(connector, wanted), options?.reconnect !== false, options)

/**
 * Provides a client that gets its transports from `connector` and closes with the layer.
 *
 * @example
 * ```ts
 * import { McpClient, Stdio } from "@effect-mcp/client"
 *
 * export const client = McpClient.layer(Stdio.open({ command: "my-server" }), { revisions: ["2025-11-25"] })
 * ```
 */
export const layer = <E, R>(
  connector: Effect.Effect<Transport, E, R>,
  options?: Options
): Layer.Layer<McpClient, ConnectError | E, Exclude<R, Scope.Scope>> =>
  Layer.effect(McpClient, open(connector, options)) as Layer.Layer<McpClient, ConnectError | E, Exclude<R, Scope.Scope>>

/**
 * Starts a server as a child process and provides a client for it. The server stops when the layer closes.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#stdio
 *
 * @example
 * ```ts
 * import { McpClient } from "@effect-mcp/client"
 * import { NodeServices } from "@effect/platform-node"
 * import { Effect, Layer } from "effect"
 *
 * const client = McpClient.layerStdio({ command: "node", args: ["server.js"] }).pipe(Layer.provide(NodeServices.layer))
 *
 * export const program = Effect.gen(function* () {
 *   const { callToolByName } = yield* McpClient.McpClient
 *   return yield* callToolByName("hello", { name: "Ada" })
 * }).pipe(Effect.provide(client))
 * ```
 */
export const layerStdio = (
  options: Options & Stdio.Options
): Layer.Layer<McpClient, ConnectError, Stdio.Requirements> => layer(Stdio.open(options), options)

/**
 * Provides a client for the server at a URL, using the platform's `fetch`. Speaks Streamable HTTP and falls back to HTTP with SSE for older
 * servers. To log in or add request middleware, use `layerHttp` instead.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#streamable-http
 *
 * @example
 * ```ts
 * import { McpClient } from "@effect-mcp/client"
 *
 * export const client = McpClient.layerFetch({
 *   url: "https://mcp.example.com/mcp",
 *   headers: { authorization: "Bearer secret" }
 * })
 * ```
 */
export const layerFetch = (options: Options & Fetch.Options): Layer.Layer<McpClient, ConnectError> =>
  layer(Fetch.open(options), options)

/**
 * Provides a client for the server at a URL, using the `HttpClient` in the context, which can handle login and retries. Speaks Streamable
 * HTTP and falls back to HTTP with SSE for older servers.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#streamable-http
 *
 * @example
 * ```ts
 * import { McpClient } from "@effect-mcp/client"
 * import { Layer } from "effect"
 * import { FetchHttpClient } from "effect/http"
 *
 * export const client = McpClient.layerHttp({
 *   url: "https://mcp.example.com/mcp",
 *   headers: { authorization: "Bearer secret" }
 * }).pipe(Layer.provide(FetchHttpClient.layer))
 * ```
 */
export const layerHttp = (options: Options & Http.Options): Layer.Layer<McpClient, ConnectError, Http.Requirements> =>
  layer(
    Effect.flatMap(
      imported(() => import("./transport/Http.ts")),
      ({ open }) => open(options)
    ),
    options
  )

/**
 * Provides a client for a server listening on a TCP or Unix socket. Requires a `Socket`.
 *
 * @example
 * ```ts
 * import { McpClient } from "@effect-mcp/client"
 * import { NodeSocket } from "@effect/platform-node"
 * import { Layer } from "effect"
 *
 * export const client = McpClient.layerSocket().pipe(Layer.provide(NodeSocket.layerNet({ host: "127.0.0.1", port: 4000 })))
 * ```
 */
export const layerSocket = (
  options?: Options & Socket.Options
): Layer.Layer<McpClient, ConnectError, Socket.Requirements> => layer(Socket.connector(options), options)

/**
 * Provides a client that connects over HTTP with SSE. By default, it offers only the revisions that start with a handshake.
 *
 * @see https://modelcontextprotocol.io/specification/2024-11-05/basic/transports#http-with-sse
 */
export const layerSse = (options: Options & Sse.Options): Layer.Layer<McpClient, ConnectError, Sse.Requirements> =>
  layer(
    Effect.flatMap(
      imported(() => import("./transport/Sse.ts")),
      ({ open }) => open(options)
    ),
    { ...options, revisions: options.revisions ?? stateful }
  )

/** Provides the connected server's tools as a `Tools` service, so code written against local tools can use them. */
export const layerTools: Layer.Layer<Tools, never, McpClient> = /*#__PURE__*/ Layer.effect(
  Tools,
  /*#__PURE__*/ Effect.map(McpClient, Sources.tools)
)
/** Provides the connected server's resources as a `Resources` service, like `layerTools`. */
export const layerResources: Layer.Layer<Resources, never, McpClient> = /*#__PURE__*/ Layer.effect(
  Resources,
  /*#__PURE__*/ Effect.map(McpClient, Sources.resources)
)
/** Provides the connected server's prompts as a `Prompts` service, like `layerTools`. */
export const layerPrompts: Layer.Layer<Prompts, never, McpClient> = /*#__PURE__*/ Layer.effect(
  Prompts,
  /*#__PURE__*/ Effect.map(McpClient, Sources.prompts)
)
/** Provides the connected server's completions as a `Completions` service, like `layerTools`. */
export const layerCompletions: Layer.Layer<Completions, never, McpClient> = /*#__PURE__*/ Layer.effect(
  Completions,
  /*#__PURE__*/ Effect.map(McpClient, Sources.completions)
)
