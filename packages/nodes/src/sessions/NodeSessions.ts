/** The endpoints of one node, which know of each other's sessions: a session is at one of them, however many the node has. */
import type * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { RelayEndpoint } from "@effect-mcp/server/Nodes"
import type { ErrorResponse } from "@effect-mcp/server/internal/sharing"

/** One of the endpoints. */
interface Member {
  /** Answers requests of sessions that it holds. */
  readonly endpoint: RelayEndpoint
  /** True if it holds the session. */
  readonly holds: (id: string) => boolean
  /** True if the session is being opened or closed there. */
  readonly isBusyWith: (id: string) => boolean
}

export class NodeSessions {
  private readonly members = new Set<Member>()
  /** The sessions that are being opened here again; each ends with the error response for the requests that wait, if it failed. */
  readonly opening = new Map<string, Deferred.Deferred<ErrorResponse | undefined>>()
  /** The sessions that are being given up; each completes when any node may take it over. */
  readonly leaving = new Map<string, Deferred.Deferred<void>>()

  /** Adds an endpoint, until the scope closes. */
  add(member: Member): Effect.Effect<void, never, Scope.Scope> {
    return Effect.asVoid(
      Effect.acquireRelease(
        Effect.sync(() => this.members.add(member)),
        () => Effect.sync(() => this.members.delete(member))
      )
    )
  }

  /** The endpoint of that server that holds the session. */
  holder(server: string, id: string): RelayEndpoint | undefined {
    for (const { endpoint, holds } of this.members) if (endpoint.server === server && holds(id)) return endpoint
    return undefined
  }

  /** True if an endpoint has the session, or did a moment ago. */
  knows(id: string): boolean {
    for (const { holds, isBusyWith } of this.members) if (holds(id) || isBusyWith(id)) return true
    return false
  }
}
