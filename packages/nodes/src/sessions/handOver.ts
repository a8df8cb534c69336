/** Gives the sessions of a node that leaves to the others, each as soon as no request of it runs. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type { HttpSession, ManagedEndpoint } from "@effect-mcp/server/internal/sharing"
import type { NodeSessions } from "./NodeSessions.ts"

type Endpoint = Pick<ManagedEndpoint, "exchanges" | "nodes" | "table">

/** How often sessions that still run requests are looked at, in milliseconds. */
const look = 10
/** How long the directory may take. If it takes longer, the sessions are taken over once this node has left. */
const patience = "5 seconds"

const isBusy = ({ isOpening, session, sink }: HttpSession): boolean =>
  session === undefined || isOpening || sink.running > 0 || session.peer.open().length > 0

const given = ({ nodes }: Endpoint, node: NodeSessions, sessions: ReadonlyArray<HttpSession>): Effect.Effect<void> =>
  Effect.suspend(() => {
    const ids = sessions.map(({ id }) => id)
    const left = Deferred.makeUnsafe<void>()
    for (const id of ids) node.leaving.set(id, left)
    const closed = Effect.forEach(sessions, (session) => session.close("The session moves to another node"), {
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

/** Completes when no session is held here and no request may open one again. */
export const handOver = (endpoint: Endpoint, node: NodeSessions): Effect.Effect<void> =>
  Effect.suspend(() => {
    const { exchanges, table } = endpoint
    const all = table.all()
    if (all.length === 0 && exchanges.isSettled) return Effect.void
    const idle = all.filter((session) => !isBusy(session) && table.take(session))
    const now = idle.length === 0 ? Effect.void : Effect.uninterruptible(given(endpoint, node, idle))
    return Effect.andThen(now, Effect.andThen(Effect.sleep(look), handOver(endpoint, node)))
  })
