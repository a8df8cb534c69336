/** Options of one request, the client's defaults, and their translation into options of the peer. */
import type { RequestOptions } from "@effect-mcp/core/Peer"
import type { OnProgress } from "@effect-mcp/core/Progress"
import type { RequestHeaders } from "@effect-mcp/core/Transport"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as MethodInfo from "@effect-mcp/protocol/MethodInfo"
import * as Duration from "effect/Duration"

/**
 * Options of one request. Each option defaults to the client's setting (`Options`).
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
  /** How long to wait for the answer, or for the next progress notification, before failing with `Timeout`. Default 60 seconds. */
  readonly timeout?: Duration.Input | undefined
  /** Whether progress restarts `timeout`. Default true. */
  readonly resetOnProgress?: boolean | undefined
  /** How long the request may take in total, even if it makes progress. Default 10 minutes. */
  readonly maxTotal?: Duration.Input | undefined
  /**
   * How long to wait for a new connection when the last one was lost, before failing with `Closed` (unsent). Default: until the request
   * times out.
   */
  readonly reconnectTimeout?: Duration.Input | undefined
  /**
   * Called with each progress notification, in order of arrival. A plain function that must not block, because the reader of messages calls
   * it.
   */
  readonly onProgress?: OnProgress | undefined
  /** Called with the JSON-RPC id before each attempt to send the request. */
  readonly onSend?: ((id: JsonRpc.Id) => void) | undefined
  /** Entries to add to `_meta` of the request. */
  readonly meta?: { readonly [key: string]: unknown } | undefined
  /** HTTP headers for this request only. Other transports ignore them. */
  readonly headers?: RequestHeaders | undefined
  /** Whether to send the request even if a fresh result is cached (2026-07-28). Default false. */
  readonly fresh?: boolean | undefined
}

export interface Defaults {
  readonly timeout: Duration.Input
  readonly resetOnProgress: boolean
  readonly maxTotal: Duration.Input
}

const longRunning = MethodInfo.requestsWith("longRunning")

/**
 * True if the client requests progress even without `onProgress`, because progress restarts the timeout of methods that can run for long.
 */
export const isWatched = (method: string, { timeout }: CallOptions): boolean =>
  longRunning.includes(method) && timeout !== Duration.infinity

const noop = (): void => {}

/** Combines the options of a request with the client's defaults. */
export const requestOptions = (method: string, options: CallOptions, defaults: Defaults): RequestOptions => ({
  timeout: options.timeout ?? defaults.timeout,
  resetOnProgress: options.resetOnProgress ?? defaults.resetOnProgress,
  maxTotal: options.maxTotal ?? defaults.maxTotal,
  onProgress: options.onProgress ?? (isWatched(method, options) ? noop : undefined),
  headers: options.headers,
  onSend: options.onSend
})
