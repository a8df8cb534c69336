/** Request options, the client's defaults, and their translation to peer options. */
import type { RequestOptions } from "@effect-mcp/core/Peer"
import type { OnProgress } from "@effect-mcp/core/Progress"
import type { RequestHeaders } from "@effect-mcp/core/Transport"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as MethodInfo from "@effect-mcp/protocol/MethodInfo"
import * as Duration from "effect/Duration"

/**
 * Options for a single request. Each one defaults to the client's setting (`Options`).
 *
 * @example
 * ```ts
 * import { McpClient } from "@effect-mcp/client"
 * import { Effect } from "effect"
 *
 * export const report = Effect.flatMap(McpClient.McpClient, (client) =>
 *   client.callToolByName("report", { month: "2026-07" }, {
 *     timeout: "30 seconds",
 *     maxTotal: "5 minutes",
 *     onProgress: ({ progress, total }) => console.error(`${progress} of ${total ?? "?"}`)
 *   })
 * )
 * ```
 */
export interface CallOptions {
  /** How long to wait for the response or the next progress notification before failing with `Timeout`. Default 60 seconds. */
  readonly timeout?: Duration.Input | undefined
  /** Whether to restart `timeout` on each progress notification. Default true. */
  readonly resetOnProgress?: boolean | undefined
  /** Maximum total duration of the request, even if it keeps reporting progress. Default 10 minutes. */
  readonly maxTotal?: Duration.Input | undefined
  /** How long to wait for a lost connection to be reopened before failing with `Closed` (unsent). Default: until the request times out. */
  readonly reconnectTimeout?: Duration.Input | undefined
  /**
   * Called with each progress notification in order of arrival. Runs on the message reader, so it must be a plain function that doesn't
   * block.
   */
  readonly onProgress?: OnProgress | undefined
  /** Called with the JSON-RPC ID before each attempt to send the request. */
  readonly onSend?: ((id: JsonRpc.Id) => void) | undefined
  /** Entries to add to the request's `_meta`. */
  readonly meta?: { readonly [key: string]: unknown } | undefined
  /** HTTP headers to add to this request only. Ignored by other transports. */
  readonly headers?: RequestHeaders | undefined
  /** Whether to send the request even if the cache holds a fresh result (2026-07-28). Default false. */
  readonly fresh?: boolean | undefined
  /** URI of the view on whose behalf a tool is called, for the `Consent` policy. Default: the program calls the tool. */
  readonly view?: string | undefined
}

export interface Defaults {
  readonly timeout: Duration.Input
  readonly resetOnProgress: boolean
  readonly maxTotal: Duration.Input
}

const longRunning = MethodInfo.requestsWith("longRunning")

/**
 * True if the client requests progress even without `onProgress`, because progress restarts the timeout of long-running methods.
 */
export const isWatched = (method: string, { timeout }: CallOptions): boolean =>
  longRunning.includes(method) && timeout !== Duration.infinity

const noop = (): void => {}

/** Combines a request's options with the client's defaults. */
export const requestOptions = (method: string, options: CallOptions, defaults: Defaults): RequestOptions => ({
  timeout: options.timeout ?? defaults.timeout,
  resetOnProgress: options.resetOnProgress ?? defaults.resetOnProgress,
  maxTotal: options.maxTotal ?? defaults.maxTotal,
  onProgress: options.onProgress ?? (isWatched(method, options) ? noop : undefined),
  headers: options.headers,
  onSend: options.onSend
})
