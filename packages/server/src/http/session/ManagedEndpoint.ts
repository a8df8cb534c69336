/**
 * An endpoint that shares its sessions with other nodes through a `SessionManager`: the functions that the manager uses, and the forwarding
 * of requests.
 */
import type { Fork } from "@effect-mcp/core/internal/inFlight"
import type { Decoded } from "@effect-mcp/core/Transport"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { McpServer } from "../../dispatch/Server.ts"
import type { Nodes } from "../../session/Nodes.ts"
import type { HttpAnswering } from "../request/HttpAnswering.ts"
import type { Admission } from "../request/Admission.ts"
import type { HttpRequest } from "../request/HttpRequest.ts"
import type { InFlightRequests } from "../request/InFlightRequests.ts"
import type { KeepAliveTimer } from "../response/SseBody.ts"
import type { Config, HttpSession } from "./HttpSession.ts"
import type { SessionManager } from "./SessionManager.ts"
import type { SessionTable } from "./SessionTable.ts"

/** The endpoint. `post` and `other` handle requests for sessions that this node holds. */
export interface ManagedEndpoint extends Pick<HttpAnswering, "other" | "post"> {
  /** The nodes that share the sessions. */
  readonly nodes: Nodes["Service"]
  readonly server: McpServer["Service"]
  readonly table: SessionTable<HttpSession>
  readonly config: Config
  readonly admission: Admission
  readonly exchanges: InFlightRequests
  readonly keepAlive: KeepAliveTimer
  /** Runs an effect in the endpoint's scope. */
  readonly fork: Fork
  /** Runs an effect until the endpoint has ended, whereas `fork` stops when the endpoint starts to end. */
  readonly passOn: Fork
  /** Returns true if the body is a request that needs no session, whichever session its headers name. */
  readonly isStateless: (http: HttpRequest, body: Decoded) => boolean
}

/** Creates an endpoint's manager, which lasts until the scope closes. `Nodes` provides it to its server's endpoints. */
export class SessionManagers extends Context.Service<
  SessionManagers,
  { readonly make: (endpoint: ManagedEndpoint) => Effect.Effect<SessionManager, never, Scope.Scope> }
>()("@effect-mcp/server/SessionManagers") {}

/** Wraps an endpoint so that it forwards requests for sessions that other nodes hold. */
export const forwarding = (
  { other, post }: Pick<HttpAnswering, "other" | "post">,
  { forward, isElsewhere }: SessionManager
): Pick<HttpAnswering, "other" | "post"> => ({
  post: (http, read, exchange) =>
    typeof read !== "string" && isElsewhere(http)
      ? forward(http, read, exchange, () => post(http, read, exchange))
      : post(http, read, exchange),
  other: (http, exchange) =>
    (http.method === "GET" || http.method === "DELETE") && isElsewhere(http)
      ? forward(http, undefined, exchange, () => other(http, exchange))
      : other(http, exchange)
})
