/** One node's endpoints, which share their sessions. Each session is held by exactly one endpoint. */
import type * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { RelayEndpoint } from "@effect-mcp/server/Nodes"
import type { ErrorResponse } from "@effect-mcp/server/internal/sharing"

/** One of the endpoints. */
interface Member {
  /** Handles requests for the sessions that it holds. */
  readonly endpoint: RelayEndpoint
  /** True if it holds the session. */
  readonly holds: (id: string) => boolean
  /** True if the endpoint is opening or closing the session. */
  readonly isBusyWith: (id: string) => boolean
}

export class NodeSessions {
  private readonly members = new Set<Member>()
  /** Sessions being reopened here. If reopening fails, the value is the error response for the waiting requests. */
  readonly opening = new Map<string, Deferred.Deferred<ErrorResponse | undefined>>()
  /** Sessions being released. Each one completes once any node may take it over. */
  readonly leaving = new Map<string, Deferred.Deferred<void>>()

  /** Adds an endpoint until the scope closes. */
  add(member: Member): Effect.Effect<void, never, Scope.Scope> {
    return Effect.asVoid(
      Effect.acquireRelease(
        Effect.sync(() => this.members.add(member)),
        () => Effect.sync(() => this.members.delete(member))
      )
    )
  }

  /** Returns the endpoint of this server that holds the session. */
  holder(server: string, id: string): RelayEndpoint | undefined {
    for (const { endpoint, holds } of this.members) if (endpoint.server === server && holds(id)) return endpoint
    return undefined
  }

  /** True if an endpoint holds the session, or held it a moment ago. */
  knows(id: string): boolean {
    for (const { holds, isBusyWith } of this.members) if (holds(id) || isBusyWith(id)) return true
    return false
  }
}
