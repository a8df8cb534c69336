/**
 * What a handler may know about its request. Provided per request, in every revision and transport.
 *
 * `RequestServices` are the services of each request: they never appear in the requirements of a feature's layer.
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

/** What outlives a request: its session, or its duplex transport. For code that relays messages (a gateway). */
export interface RequestConnection {
  /** Closes with the connection. */
  readonly scope: Scope.Scope
  /** Sends a notification that relates to no request, unchanged. */
  readonly notify: (method: string, params?: JsonRpc.Params) => void
  /** Completes when the session is initialized and the outbox has room. */
  readonly ready: Effect.Effect<void>
  /** Whether the client reads what relates to no request: over HTTP only while it has opened the stream of its session. */
  readonly isRead: () => boolean
  /** Completes when it reads that no more. */
  readonly left: Effect.Effect<void>
  /** Completes when the client is initialized and reads that. */
  readonly read: Effect.Effect<void>
  /** Asks the client questions that relate to no request; undefined where that is not possible. */
  readonly input: ClientInput["Service"] | undefined
  /** Announcements that the client's roots changed, where it makes any. */
  readonly rootsChanges: Stream.Stream<void> | undefined
}

/** What may leave beside the answer of a request. For code that relays messages (a gateway): it neither waits nor checks. */
export interface Outbound {
  /** Sends a notification on the request's own stream, unchanged. */
  readonly notify: (method: string, params?: JsonRpc.Params) => void
  /** Completes when that stream has room. */
  readonly ready: Effect.Effect<void>
  /** Whether the client reads that stream now: over HTTP it may have gone, to come back or not. */
  readonly isRead: () => boolean
  /** Completes when the client has gone. */
  readonly left: Effect.Effect<void>
  /** Completes when the server is about to end: subscriptions are answered then. */
  readonly closing: Effect.Effect<void>
  /** Undefined for a POST without a session. */
  readonly connection: RequestConnection | undefined
}

/** The HTTP request that brought a request. All of it is text that the client chose, unless a proxy or middleware has checked it. */
export interface HttpRequestInfo {
  /** In upper case. */
  readonly method: string
  /** By names in lower case; values of several headers of one name are joined. */
  readonly headers: { readonly [name: string]: string | undefined }
  /** The path and query; the whole URL where the request has no `host` header. Not decoded, and not checked. */
  readonly url: string
  /** The network address of the client, or of the proxy before it; undefined where the platform does not give it. */
  readonly address: string | undefined
}

/** Whether an envelope came by an HTTP request. */
export const isHttp = ({ method, originalUrl }: Envelope): boolean => method !== undefined && originalUrl !== undefined

/** The HTTP request of an envelope; undefined for one that came otherwise. */
export const httpOf = (envelope: Envelope): HttpRequestInfo | undefined => {
  const { method, originalUrl } = envelope
  if (method === undefined || originalUrl === undefined) return undefined
  const { address, headers = {} } = envelope
  // Without a prototype: a header that is absent must not be found there.
  const own: { [name: string]: string | undefined } = Object.create(null)
  for (const [name, value] of Object.entries(headers)) if (typeof value === "string") own[name] = value
  return { method, headers: own, url: originalUrl, address }
}

/**
 * The running request.
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
    /** The id of the request; empty for a notification, which has none. */
    readonly id: JsonRpc.Id
    readonly method: string
    readonly revision: Revision
    /** The session of the request; undefined in a stateless revision. */
    readonly sessionId: string | undefined
    readonly clientInfo: Implementation | undefined
    /** What the client declared; empty when it declared nothing. */
    readonly clientCapabilities: ClientCapabilities
    /** The request's `_meta`, unchanged. */
    readonly meta: { readonly [key: string]: unknown }
    readonly envelope: Envelope
    /** The HTTP request that brought this one; undefined over stdio, sockets and in memory. */
    readonly http: HttpRequestInfo | undefined
    readonly outbound: Outbound
    /**
     * Closes the SSE stream of the answer where the client can resume it (Streamable HTTP, 2025-11-25: polling), after it was told to wait
     * `retry`. The handler continues. Does nothing elsewhere.
     */
    readonly closeStream: (retry?: Duration.Input) => void
  }
>()("@effect-mcp/core/RequestContext") {}

/** For code that runs inside a request but must not ask the client: lists, completion. */
export type QueryServices = RequestContext | Principal | Log | Scope.Scope
/** For handlers of tools, prompts and resources. */
export type RequestServices = QueryServices | Progress | ClientInput | Elicitation | Sampling | Roots
