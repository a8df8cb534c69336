/** The metrics of tasks. Those that are parked run nowhere: no gauge counts them, and views show them. */
import { errorTypeOf } from "@effect-mcp/core/internal/Spans"
import type { Observed, Observer } from "@effect-mcp/server/Observer"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { serverMetrics, value } from "./Names.ts"
import { read } from "./read.ts"
import { Series, type SeriesLimit } from "./Series.ts"

const states = ["running", "asking", "sleeping"] as const

/** Registers the gauges for as long as the scope. */
export const gauges = (
  servers: ReadonlySet<Observed>,
  context: Context.Context<never>
): Effect.Effect<void, never, Scope.Scope> => {
  const count = (of: (typeof states)[number] | "questions") => (): { readonly value: number } => {
    let tasks = 0
    for (const server of servers) for (const source of server.tasks.all) tasks += source.count()[of]
    return { value: tasks }
  }
  return Effect.all(
    [
      ...states.map((state) => read(value(serverMetrics.tasks, { "mcp.task.state": state }), context, count(state))),
      read(value(serverMetrics.taskQuestions), context, count("questions"))
    ],
    { discard: true }
  )
}

/** Names of tools are the server's own. */
export const observer = (
  targets: boolean,
  limit: SeriesLimit,
  context: Context.Context<never>
): Required<Pick<Observer, "task" | "taskRun">> => {
  const tool = "gen_ai.tool.name"
  const lasted = new Series(serverMetrics.task, ["mcp.task.state", tool], 1, limit, context)
  const runs = new Series(serverMetrics.taskRun, ["mcp.task.run.end", "error.type", tool], 1, limit, context)
  const created = new Series(serverMetrics.tasksCreated, [tool], 0, limit, context)
  const retries = new Series(serverMetrics.taskRetries, [tool], 0, limit, context)
  const named = (tool: string | undefined): string | undefined => (targets ? tool : undefined)
  return {
    task: ({ age, state, tool }) => {
      if (state === "created") created.record(1, named(tool))
      else if (age !== undefined) lasted.record(age / 1000, state, named(tool))
    },
    taskRun: ({ attempt, duration, end, tool }, exit) => {
      if (attempt > 1) retries.record(1, named(tool))
      runs.record(duration / 1000, end, end === "ended" ? errorTypeOf(exit) : undefined, named(tool))
    }
  }
}
