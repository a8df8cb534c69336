/** A server's tasks, as rows in its view. */
import { digest } from "@effect-mcp/core/internal/digest"
import { beginning } from "@effect-mcp/protocol/Excerpt"
import * as Effect from "effect/Effect"
import type { OpenTask, TaskSources } from "../request/TaskSource.ts"
import { clientOf, principalOf, progressOf, type RequestRow } from "./RequestRow.ts"

/**
 * Returns a task's display key, which is the same on every node that shares its store. The ID is not used, because knowing it may grant
 * access.
 */
export const keyOf = (id: string): string => `task-${digest(id)}`

/** Creates the row. Only named callers' tasks show their IDs. */
const rowOf = ({ asking, facts, id, progress, since, state, tool, wakesAt }: OpenTask): RequestRow => {
  const { clientInfo, principal, revision, sessionId } = facts ?? {}
  return {
    key: keyOf(id),
    kind: "task",
    id,
    method: "tools/call",
    target: beginning(tool),
    state,
    since,
    asking,
    asked: 0,
    wakesAt,
    progress: progressOf(progress),
    relatedTo: undefined,
    principal: principal === undefined ? { subject: undefined, issuer: undefined } : principalOf(principal),
    session: sessionId,
    client: clientOf(clientInfo),
    revision: revision?.version,
    transport: undefined
  }
}

export const list = ({ all }: TaskSources): Effect.Effect<ReadonlyArray<RequestRow>> =>
  all.size === 0
    ? Effect.succeed([])
    : Effect.map(
        Effect.forEach(all, ({ list }) => list),
        (tasks) => tasks.flat().map(rowOf)
      )

/** Cancels the task with this key. Returns false if there is none. */
export const cancel = ({ all }: TaskSources, key: string, reason: string): Effect.Effect<boolean> =>
  Effect.gen(function* () {
    for (const source of all) {
      const task = (yield* source.list).find(({ id }) => keyOf(id) === key)
      if (task !== undefined) return yield* source.cancel(task.id, reason)
    }
    return false
  })
