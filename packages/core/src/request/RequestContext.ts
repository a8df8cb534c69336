/**
 * Information about the current request, available to its handler in every revision and transport.
 *
 * `RequestServices` are the services each request provides. They never appear in the requirements of a layer.
 */
import type { ClientCapabilities } from "@effect-mcp/protocol/Capabilities"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type { Implementation } from "@effect-mcp/protocol/model/Implementation"
import type { Revision } from "@effect-mcp/protocol/Revision"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"
import type { ClientInput } from "./ClientInput.ts"
import type { Elicitation } from "./Elicitation.ts"
import type { Log } from "./Log.ts"
import type { Principal } from "../transport/Principal.ts"
import type { Progress } from "./Progress.ts"
import type { Roots } from "./Roots.ts"
import type { Sampling } from "./Sampling.ts"
import type { Envelope } from "../transport/Transport.ts"

/**
 * The part of a connection that outlives a request: the session or the duplex transport. For code that relays messages, such as a gateway.
 */
export interface RequestConnection {
  /** Closes when the connection does. */
  readonly scope: Scope.Scope
  /** Sends a notification that doesn't belong to any request. It is sent unchanged. */
  readonly notify: (method: string, params?: JsonRpc.Params) => void
  /** Completes once the session is initialized and the outbox has room. */
  readonly ready: Effect.Effect<void>
  /**
   * True if the client is reading messages that don't belong to any request. Over HTTP, only while the client has the session's stream
   * open.
   */
  readonly isRead: () => boolean
  /** Completes when the client stops reading them. */
  readonly left: Effect.Effect<void>
  /** Completes once the client is initialized and reading them. */
  readonly read: Effect.Effect<void>
  /** Asks the client questions that don't belong to any request, or `undefined` if that isn't possible. */
  readonly input: ClientInput["Service"] | undefined
  /** Emits when the client announces that its roots have changed, or `undefined` if the client doesn't announce it. */
  readonly rootsChanges: Stream.Stream<void> | undefined
}

/**
 * Sends messages related to a request, apart from the response. For code that relays messages, such as a gateway: it neither waits nor
 * validates.
 */
export interface Outbound {
  /** Sends a notification on the request's own stream. It is sent unchanged. */
  readonly notify: (method: string, params?: JsonRpc.Params) => void
  /** Completes when the stream has room. */
  readonly ready: Effect.Effect<void>
  /** True if the client is reading the stream. Over HTTP, the client may have disconnected and may reconnect. */
  readonly isRead: () => boolean
  /** Completes when the client has disconnected. */
  readonly left: Effect.Effect<void>
  /** Completes when the server is about to shut down. Open subscriptions should respond at that point. */
  readonly closing: Effect.Effect<void>
  /** The connection, or `undefined` for a POST without a session. */
  readonly connection: RequestConnection | undefined
}

/** The HTTP request that carried an MCP request. The client controls all of its text, unless a proxy or middleware has verified it. */
export interface HttpRequestInfo {
  /** HTTP method, in upper case. */
  readonly method: string
  /** Headers by lowercase name. Values of repeated headers are joined. */
  readonly headers: { readonly [name: string]: string | undefined }
  /** Path and query, or the full URL if the request has no `host` header. Neither decoded nor validated. */
  readonly url: string
  /** Network address of the client or of the proxy in front of it. `undefined` if the platform doesn't report it. */
  readonly address: string | undefined
}

/** True if a message arrived in an HTTP request. */
export const isHttp = ({ method, originalUrl }: Envelope): boolean => method !== undefined && originalUrl !== undefined

/** Returns the HTTP request that a message arrived in, or `undefined` if it arrived another way. */
export const httpOf = (envelope: Envelope): HttpRequestInfo | undefined => {
  const { method, originalUrl } = envelope
  if (method === undefined || originalUrl === undefined) return undefined
  const { address, headers = {} } = envelope
  // No prototype, so that looking up an absent header doesn't find an inherited property.
  const own: { [name: string]: string | undefined } = Object.create(null)
  for (const [name, value] of Object.entries(headers)) if (typeof value === "string") own[name] = value
  return { method, headers: own, url: originalUrl, address }
}

/**
 * The current request.
 *
 * @example
 * ```ts
 * import { RequestContext } from "@effect-mcp/core"
 * import { Effect } from "effect"
 *
 * export const client = Effect.map(
 *   RequestContext.RequestContext,
 *   ({ clientInfo, method, revision }) => `${method} by ${clientInfo?.name ?? "a client"} over ${revision.version}`
 * )
 * ```
 */
export class RequestContext extends Context.Service<
  RequestContext,
  {
    /** Request ID. Empty for a notification, which has no ID. */
    readonly id: JsonRpc.Id
    readonly method: string
    readonly revision: Revision
    /** Session ID, or `undefined` in a stateless revision. */
    readonly sessionId: string | undefined
    readonly clientInfo: Implementation | undefined
    /** Capabilities the client declared. Empty if it declared no capabilities. */
    readonly clientCapabilities: ClientCapabilities
    /** The request's `_meta`, unchanged. */
    readonly meta: { readonly [key: string]: unknown }
    readonly envelope: Envelope
    /** The HTTP request that carried this request, or `undefined` over stdio, sockets and in-memory transports. */
    readonly http: HttpRequestInfo | undefined
    readonly outbound: Outbound
    /**
     * Closes the response's SSE stream if the client can resume it (Streamable HTTP, 2025-11-25: polling). The client is first told to wait
     * `retry` before reconnecting. The handler keeps running. Does nothing if the client cannot resume the stream.
     */
    readonly closeStream: (retry?: Duration.Input) => void
  }
>()("@effect-mcp/core/RequestContext") {}

/** Services available to code that runs inside a request but must not ask the client questions: lists and completion. */
export type QueryServices = RequestContext | Principal | Log | Scope.Scope
/** Services available to tool, prompt and resource handlers. */
export type RequestServices = QueryServices | Progress | ClientInput | Elicitation | Sampling | Roots
