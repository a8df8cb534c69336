/** How one call may differ from the client's defaults, and what both amount to for the peer. */
import type { RequestOptions } from "@effect-mcp/core/Peer"
import type { RequestHeaders } from "@effect-mcp/core/Transport"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type * as Method from "@effect-mcp/protocol/Method"
import * as MethodInfo from "@effect-mcp/protocol/MethodInfo"
import type { ProgressParams } from "@effect-mcp/protocol/model/Progress"
import * as Duration from "effect/Duration"

export type Requests = Method.ClientRequests

/** How one call may differ from the client's defaults. */
export interface CallOptions {
  /** How long to wait for the answer, or for the next progress. Default 60 seconds. */
  readonly timeout?: Duration.Input | undefined
  /** Whether progress starts the wait anew. Default true. */
  readonly resetOnProgress?: boolean | undefined
  /** How long to wait whatever the progress. Default 10 minutes. */
  readonly maxTotal?: Duration.Input | undefined
  /**
   * How long the request waits for a connection where the last one is lost; it then fails with `Closed`, unsent. Default: as long as the
   * request may take.
   */
  readonly reconnectTimeout?: Duration.Input | undefined
  /** Told of every progress event, in the reader: it must not block. */
  readonly onProgress?: ((event: ProgressParams) => void) | undefined
  /** Told of the id that the request has on the wire, before it is sent; each time, if it is sent again. */
  readonly onSend?: ((id: JsonRpc.Id) => void) | undefined
  /** Sent as the request's `_meta`. */
  readonly meta?: { readonly [key: string]: unknown } | undefined
  /** Headers of this request alone, where the wire has headers (HTTP). */
  readonly headers?: RequestHeaders | undefined
  /** Asks the server even for what it allowed to be kept (2026-07-28). Default false. */
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

/** How a request waits: the client's defaults, as one call changes them. */
export const requestOptions = (method: string, options: CallOptions, defaults: Defaults): RequestOptions => ({
  timeout: options.timeout ?? defaults.timeout,
  resetOnProgress: options.resetOnProgress ?? defaults.resetOnProgress,
  maxTotal: options.maxTotal ?? defaults.maxTotal,
  onProgress: options.onProgress ?? (isWatched(method, options) ? noop : undefined),
  headers: options.headers,
  onSend: options.onSend
})
