/** Releases the sessions of a node that is leaving, each as soon as it has no running request. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type { HttpSession, ManagedEndpoint } from "@effect-mcp/server/internal/sharing"
import type { NodeSessions } from "./NodeSessions.ts"

/** The parts of a session needed to hand it over. */
export interface Held extends Pick<HttpSession, "id" | "isOpening" | "close"> {
  readonly sink: Pick<HttpSession["sink"], "running">
  readonly session: { readonly peer: { open(): { readonly length: number } } } | undefined
}

/** The parts of an endpoint needed to hand over its sessions. */
export interface LeavingEndpoint {
  readonly exchanges: Pick<ManagedEndpoint["exchanges"], "isSettled">
  readonly nodes: { readonly directory: Pick<ManagedEndpoint["nodes"]["directory"], "release"> }
  readonly table: {
    all(): ReadonlyArray<Held>
    take(session: Held): boolean
  }
}

/** Interval at which sessions with running requests are checked, in milliseconds. */
const look = 10
/** How long the directory may take. After that, the sessions are taken over once this node has left. */
const patience = "5 seconds"

const isBusy = ({ isOpening, session, sink }: Held): boolean =>
  session === undefined || isOpening || sink.running > 0 || session.peer.open().length > 0

const given = ({ nodes }: LeavingEndpoint, node: NodeSessions, sessions: ReadonlyArray<Held>): Effect.Effect<void> =>
  Effect.suspend(() => {
    const ids = sessions.map(({ id }) => id)
    const left = Deferred.makeUnsafe<void>()
    for (const id of ids) node.leaving.set(id, left)
    const closed = Effect.forEach(sessions, (session) => session.close("The session is moving to another node"), {
      concurrency: "unbounded",
      discard: true
    })
    const released = Effect.timeoutOption(Effect.interruptible(nodes.directory.release(ids)), patience)
    return Effect.ensuring(
      Effect.andThen(closed, Effect.ignore(released)),
      Effect.sync(() => {
        for (const id of ids) node.leaving.delete(id)
        Deferred.doneUnsafe(left, Effect.void)
      })
    )
  })

/** Completes when no session is held here and no request can reopen one. */
export const handOver = (endpoint: LeavingEndpoint, node: NodeSessions): Effect.Effect<void> =>
  Effect.suspend(() => {
    const { exchanges, table } = endpoint
    const all = table.all()
    if (all.length === 0 && exchanges.isSettled) return Effect.void
    const idle = all.filter((session) => !isBusy(session) && table.take(session))
    const now = idle.length === 0 ? Effect.void : Effect.uninterruptible(given(endpoint, node, idle))
    return Effect.andThen(now, Effect.andThen(Effect.sleep(look), handOver(endpoint, node)))
  })
