/** Observes task runs: opens a span for each if there is a tracer, and reports its end to the server's observers. */
import { Spans } from "@effect-mcp/core/internal/peers"
import type { McpError } from "@effect-mcp/protocol/McpError"
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"
import { type Observer, type TaskRunEnd, timeOf } from "@effect-mcp/server/Observer"
import { shownId } from "@effect-mcp/core/internal/digest"
import * as Effect from "effect/Effect"
import type { Attempt } from "./Attempt.ts"
import * as Defects from "./defects.ts"

/** `end` returns why the run is over, once it is. */
export const observed = (
  { about: { attempt, client, tool }, handler }: Attempt,
  id: string,
  observer: Observer | undefined,
  end: () => TaskRunEnd["end"]
): Effect.Effect<JsonObject, McpError> => {
  const { principal, revision } = client.facts
  const traced = Spans.taskRun(handler, {
    tool,
    attempt,
    end,
    id: () => shownId(id, principal),
    revision: revision.version,
    creator: client.trace
  })
  const { taskRun } = observer ?? {}
  if (taskRun === undefined) return traced
  return Effect.clockWith((clock) => {
    const now = timeOf(clock)
    const began = now()
    return Effect.onExit(traced, (exit) => {
      const told = Effect.sync(() =>
        taskRun({ id, tool, revision: revision.version, attempt, end: end(), duration: now() - began }, exit)
      )
      return Effect.catchDefect(told, Defects.logged)
    })
  })
}
