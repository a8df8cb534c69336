/**
 * The client as users import it: the service, the ways to open one, and its server under the tags of a server's own features.
 */
import { Completions } from "@effect-mcp/core/Completions"
import { Prompts } from "@effect-mcp/core/Prompts"
import { Resources } from "@effect-mcp/core/Resources"
import { Tools } from "@effect-mcp/core/Tools"
import type { Transport } from "@effect-mcp/core/Transport"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { type Client, type ConnectError, McpClient, type Options } from "./Client.ts"
import * as Connection from "./connection/Connection.ts"
import type * as Http from "./transport/Http.ts"
import * as Socket from "./transport/Socket.ts"
import type * as Sse from "./transport/Sse.ts"
import * as Stdio from "./transport/Stdio.ts"
import { make } from "./makeClient.ts"
import * as Negotiation from "./connection/Negotiation.ts"
import * as Sources from "./mount/Sources.ts"

export type { CallEvent } from "./features/Calls.ts"
export type { ClientError } from "./ClientError.ts"
export type { CallOptions } from "./CallOptions.ts"
export type { Policy } from "./connection/Backoff.ts"
export type { WatchEvent } from "./features/Watch.ts"
export { type Announcement, type Client, type ConnectError, McpClient, type Options } from "./Client.ts"

/**
 * Opens a conversation over a wire that someone else owns: on failure, and at the end, only this side's part is closed. There is no
 * other wire to come back on; see `Options.reconnect` for what is tried again on this one.
 */
export const connect = (transport: Transport, options?: Options): Effect.Effect<Client, ConnectError, Scope.Scope> =>
  make((wanted) => Connection.make(transport, wanted), false, options)

/** Opens the wire too, and another when it is lost (`Options.reconnect`). The first failure to open one is the caller's. */
export const open = <E, R>(
  connector: Effect.Effect<Transport, E, R>,
  options?: Options
): Effect.Effect<Client, ConnectError | E, Exclude<R, Scope.Scope> | Scope.Scope> =>
  make((wanted) => Connection.open(connector, wanted), options?.reconnect !== false, options)

/** The client of whatever the connector leads to, for as long as the layer lives. */
export const layer = <E, R>(
  connector: Effect.Effect<Transport, E, R>,
  options?: Options
): Layer.Layer<McpClient, ConnectError | E, Exclude<R, Scope.Scope>> =>
  Layer.effect(McpClient, open(connector, options)) as Layer.Layer<McpClient, ConnectError | E, Exclude<R, Scope.Scope>>

/** The client of a server that is started as a child process, and stopped with the layer. */
export const layerStdio = (
  options: Options & Stdio.Options
): Layer.Layer<McpClient, ConnectError, Stdio.Requirements> => layer(Stdio.open(options), options)

/** The client of a server behind HTTP, of any revision; provide an `HttpClient`, such as `FetchHttpClient.layer`. */
export const layerHttp = (options: Options & Http.Options): Layer.Layer<McpClient, ConnectError, Http.Requirements> =>
  layer(
    // Loaded when needed: who starts a process does not wait for HTTP to load.
    Effect.flatMap(
      Effect.promise(() => import("./transport/Http.ts")),
      ({ open }) => open(options)
    ),
    options
  )

/** The client of a server behind a socket; provide `NodeSocket.layerNet({ port })`, or `{ path }` for a Unix socket. */
export const layerSocket = (
  options?: Options & Socket.Options
): Layer.Layer<McpClient, ConnectError, Socket.Requirements> => layer(Socket.connector(options), options)

/** The client of a server that speaks HTTP with SSE as 2024-11-05 has it. Only revisions with a handshake are tried, unless told so. */
export const layerSse = (options: Options & Sse.Options): Layer.Layer<McpClient, ConnectError, Sse.Requirements> =>
  layer(
    Effect.flatMap(
      Effect.promise(() => import("./transport/Sse.ts")),
      ({ open }) => open(options)
    ),
    { ...options, revisions: options.revisions ?? Negotiation.stateful }
  )

/** The server's tools under the tag of a server's own. */
export const layerTools: Layer.Layer<Tools, never, McpClient> = Layer.effect(
  Tools,
  Effect.map(McpClient, Sources.tools)
)
export const layerResources: Layer.Layer<Resources, never, McpClient> = Layer.effect(
  Resources,
  Effect.map(McpClient, Sources.resources)
)
export const layerPrompts: Layer.Layer<Prompts, never, McpClient> = Layer.effect(
  Prompts,
  Effect.map(McpClient, Sources.prompts)
)
export const layerCompletions: Layer.Layer<Completions, never, McpClient> = Layer.effect(
  Completions,
  Effect.map(McpClient, Sources.completions)
)
