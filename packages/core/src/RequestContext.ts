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
import type * as Scope from "effect/Scope"
import type { ClientInput } from "./ClientInput.ts"
import type { Elicitation } from "./Elicitation.ts"
import type { Log } from "./Log.ts"
import type { Principal } from "./Principal.ts"
import type { Progress } from "./Progress.ts"
import type { Roots } from "./Roots.ts"
import type { Sampling } from "./Sampling.ts"
import type { Envelope } from "./Transport.ts"

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
    /**
     * Ends the connection that the answer would travel on, where the client can come back for it (Streamable HTTP, 2025-11-25: polling);
     * it is told to wait `retry` first. The handler goes on. Anywhere else nothing happens.
     */
    readonly disconnect: (retry?: Duration.Input) => void
  }
>()("@effect-mcp/core/RequestContext") {}

/** For code that runs inside a request but must not ask the client: lists, completion. */
export type QueryServices = RequestContext | Principal | Log | Scope.Scope
/** For handlers of tools, prompts and resources. */
export type RequestServices = QueryServices | Progress | ClientInput | Elicitation | Sampling | Roots
