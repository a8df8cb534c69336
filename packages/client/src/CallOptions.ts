/** The options of one request, the client's defaults for them, and the peer's options that follow from both. */
import type { RequestOptions } from "@effect-mcp/core/Peer"
import type { OnProgress } from "@effect-mcp/core/Progress"
import type { RequestHeaders } from "@effect-mcp/core/Transport"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as MethodInfo from "@effect-mcp/protocol/MethodInfo"
import * as Duration from "effect/Duration"

/**
 * Options of one request; each that is left out has the client's default (`Options`).
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
  /** How long the request waits for its answer, or for the next progress; then it fails with `Timeout`. Default 60 seconds. */
  readonly timeout?: Duration.Input | undefined
  /** Whether progress restarts `timeout`. Default true. */
  readonly resetOnProgress?: boolean | undefined
  /** How long the request waits in all, whatever its progress. Default 10 minutes. */
  readonly maxTotal?: Duration.Input | undefined
  /**
   * How long the request waits for another connection after the last one was lost; then it fails with `Closed`, unsent. Default: as long
   * as the request may take.
   */
  readonly reconnectTimeout?: Duration.Input | undefined
  /** A plain function, called with each progress event in the order of arrival; must not block the reader. */
  readonly onProgress?: OnProgress | undefined
  /** Called with the id of the request on the wire, before it is sent, and again each time that it is sent again. */
  readonly onSend?: ((id: JsonRpc.Id) => void) | undefined
  /** Entries of the request's `_meta`. */
  readonly meta?: { readonly [key: string]: unknown } | undefined
  /** HTTP headers of this request alone; other transports ignore them. */
  readonly headers?: RequestHeaders | undefined
  /** Whether the request is sent although a fresh result is cached (2026-07-28). Default false. */
  readonly fresh?: boolean | undefined
}

export interface Defaults {
  readonly timeout: Duration.Input
  readonly resetOnProgress: boolean
  readonly maxTotal: Duration.Input
}

const longRunning = MethodInfo.requestsWith("longRunning")

/** Whether the client asks for progress although its caller did not: progress of a method that may run for long restarts its timeout. */
export const isWatched = (method: string, { timeout }: CallOptions): boolean =>
  longRunning.includes(method) && timeout !== Duration.infinity

const noop = (): void => {}

/** The peer's options of a request. */
export const requestOptions = (method: string, options: CallOptions, defaults: Defaults): RequestOptions => ({
  timeout: options.timeout ?? defaults.timeout,
  resetOnProgress: options.resetOnProgress ?? defaults.resetOnProgress,
  maxTotal: options.maxTotal ?? defaults.maxTotal,
  onProgress: options.onProgress ?? (isWatched(method, options) ? noop : undefined),
  headers: options.headers,
  onSend: options.onSend
})
