/**
 * What a handler may know about the request it serves. Provided per request, in every revision and transport.
 *
 * `RequestServices` names everything that is supplied afresh to each request and so never shows in a feature layer's requirements.
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

/** What outlives a request: its session, or the duplex wire it came by. For code that relays what others say (a gateway). */
export interface Connection {
  /** Closes with it. */
  readonly scope: Scope.Scope
  /** Tells the client what belongs to no request, as it is. */
  readonly notify: (method: string, params?: JsonRpc.Params) => void
  /** Completes when the client may be told things (a session is opened in steps) and the wire has room. */
  readonly ready: Effect.Effect<void>
  /** Asks the client what belongs to no request; undefined where that is not possible. */
  readonly input: ClientInput["Service"] | undefined
  /** Announcements that the client's roots changed, where it makes any. */
  readonly rootsChanges: Stream.Stream<void> | undefined
}

/** What a request travels on. For code that relays what others say (a gateway): it neither waits nor checks. */
export interface Outbound {
  /** Tells the client something on the request's own stream, as it is. */
  readonly notify: (method: string, params?: JsonRpc.Params) => void
  /** Completes when that stream has room. */
  readonly ready: Effect.Effect<void>
  /** Completes when the server is about to end by itself: requests that stand open by design are answered then. */
  readonly closing: Effect.Effect<void>
  /** Undefined for a request that came alone (a POST without a session). */
  readonly connection: Connection | undefined
}

export class RequestContext extends Context.Service<
  RequestContext,
  {
    readonly id: JsonRpc.Id
    readonly method: string
    readonly revision: Revision
    /** The session the request belongs to; undefined where there is none (stateless revisions). */
    readonly sessionId: string | undefined
    readonly clientInfo: Implementation | undefined
    /** What the client declared; nothing when it declared nothing. */
    readonly clientCapabilities: ClientCapabilities
    /** The request's `_meta`, as it came. */
    readonly meta: { readonly [key: string]: unknown }
    readonly envelope: Envelope
    readonly outbound: Outbound
    /**
     * Ends the connection that the answer would travel on, where the client can come back for it (Streamable HTTP, 2025-11-25: polling);
     * it is told to wait `retry` first. The handler goes on. Anywhere else nothing happens.
     */
    readonly closeStream: (retry?: Duration.Input) => void
  }
>()("@effect-mcp/core/RequestContext") {}

/** For code that runs inside a request but must not ask the client: lists, completion. */
export type QueryServices = RequestContext | Principal | Log | Scope.Scope
/** For handlers of tools, prompts and resources. */
export type RequestServices = QueryServices | Progress | ClientInput | Elicitation | Sampling | Roots
