/**
 * The endpoints of one node, which know of each other's sessions: a session is at one of them, however many the node has.
 *
 * Made for the first endpoint of a node; a server without nodes has none.
 */
import type * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { RelayEndpoint } from "../../session/Relay.ts"
import type { SessionDirectory } from "../../session/SessionDirectory.ts"
import type { HttpSession } from "./HttpSession.ts"
import type { ErrorResponse } from "../response/Responses.ts"

/** One of the endpoints. */
interface Member {
  /** Answers requests of sessions that it holds. */
  readonly endpoint: RelayEndpoint
  /** Whether it holds the session. */
  readonly holds: (id: string) => boolean
  /** The session that is open there. */
  readonly session: (id: string) => HttpSession | undefined
  /** Whether the session is being opened or closed there. */
  readonly isBusyWith: (id: string) => boolean
}

const byDirectory = new WeakMap<SessionDirectory, NodeSessions>()

export class NodeSessions {
  private readonly members = new Set<Member>()
  /** The sessions that are being opened here again; each ends with the response to those that wait where that failed. */
  readonly opening = new Map<string, Deferred.Deferred<ErrorResponse | undefined>>()
  /** The sessions that are being given up; each completes when any node may take it over. */
  readonly leaving = new Map<string, Deferred.Deferred<void>>()

  /** Those of the node with that directory. */
  static of(directory: SessionDirectory): NodeSessions {
    const known = byDirectory.get(directory) ?? new NodeSessions()
    byDirectory.set(directory, known)
    return known
  }

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

  get endpoints(): ReadonlyArray<RelayEndpoint> {
    return Array.from(this.members, ({ endpoint }) => endpoint)
  }

  /** The session where an endpoint holds it. */
  session(id: string): HttpSession | undefined {
    for (const { holds, session } of this.members) if (holds(id)) return session(id)
    return undefined
  }

  /** Whether an endpoint has the session, or did a moment ago. */
  knows(id: string): boolean {
    for (const { holds, isBusyWith } of this.members) if (holds(id) || isBusyWith(id)) return true
    return false
  }
}
