/** How a session reaches its server, and the answers that it starts with. */
import type * as McpClient from "@effect-mcp/client/McpClient"
import type { Transport, TransportError } from "@effect-mcp/core/Transport"
import type { Root } from "@effect-mcp/protocol/model/Root"
import type { CallToolResult } from "@effect-mcp/protocol/model/Tool"
import type * as Revision from "@effect-mcp/protocol/Revision"
import type * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"

/** Functions that a connector calls. */
export interface Hooks {
  /** Receives the lines of the server's stderr. */
  readonly words: (lines: Stream.Stream<string>) => Effect.Effect<void>
  /** Tells the user to do something, such as logging in. */
  readonly tell: (text: string) => Effect.Effect<void>
}

/** A call whose tool has a view. */
export interface ViewedCall {
  readonly tool: string
  readonly arguments: { readonly [name: string]: unknown }
  readonly result: CallToolResult
  /** Origin of the page that shows the view in a frame. */
  readonly embedder: string
}

export interface Options<R = never> {
  /** The server, as the user named it. */
  readonly name: string
  /** The command that starts the server, for commands that the page copies. Default: unknown. */
  readonly words?: ReadonlyArray<string> | undefined
  /** The server's endpoint, if it is reached over HTTP. */
  readonly url?: string | undefined
  /** Opens a transport. Called for each connection. */
  readonly connect: (hooks: Hooks) => Effect.Effect<Transport, TransportError, R | Scope.Scope>
  /** The only revision to use at first. Default: the newest revision that the server supports. */
  readonly revision?: Revision.Version | undefined
  /** Roots to offer at first. Default none. */
  readonly roots?: ReadonlyArray<Root> | undefined
  /** Replies to sampling requests, in order. Default: the user replies by hand. */
  readonly replies?: ReadonlyArray<string> | undefined
  /** File that keeps the runs between starts. Default: none are kept. */
  readonly history?: string | undefined
  /** Extensions to declare. Default none. */
  readonly extensions?: Layer.Layer<never> | undefined
  /**
   * Serves a call's view on a separate port of 127.0.0.1 until the scope closes, and returns its URL. Default: results are shown
   * without their views.
   */
  readonly view?:
    | ((client: McpClient.Client, call: ViewedCall) => Effect.Effect<string, { readonly message: string }, Scope.Scope>)
    | undefined
}
