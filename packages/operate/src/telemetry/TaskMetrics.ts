/** Task metrics, for tasks running in this process and for tasks in its store that no process is running. */
import { errorTypeOf } from "@effect-mcp/core/internal/peers"
import type { ParkedByState } from "@effect-mcp/server/internal/observing"
import type { Observed, Observer } from "@effect-mcp/server/Observer"
import type * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import type * as Scope from "effect/Scope"
import { serverMetrics, value } from "./Names.ts"
import { read } from "./read.ts"
import { Series, type SeriesLimit } from "./Series.ts"

const states = ["running", "asking", "sleeping"] as const
const parkedStates = ["asking", "sleeping", "pending"] as const

/** How long to reuse a store's counts, in milliseconds, because an exporter reads several series from them. */
const fresh = 5000

/** Counts of parked tasks. A gauge can't wait for a store, so each read starts the next query and returns the previous query's result. */
class ParkedTasks {
  private counts: ParkedByState = { asking: 0, sleeping: 0, pending: 0 }
  private looked = -Infinity
  private looking = false
  private readonly servers: ReadonlySet<Observed>
  private readonly clock: Clock.Clock
  private readonly fork: (effect: Effect.Effect<void>) => void

  constructor(servers: ReadonlySet<Observed>, clock: Clock.Clock, fork: ParkedTasks["fork"]) {
    this.servers = servers
    this.clock = clock
    this.fork = fork
  }

  count(state: keyof ParkedByState): number {
    const now = this.clock.currentTimeMillisUnsafe()
    if (!this.looking && now - this.looked >= fresh) {
      this.looking = true
      this.looked = now
      this.fork(this.look)
    }
    return this.counts[state]
  }

  /** If the store fails, the figures stay unchanged. */
  private get look(): Effect.Effect<void> {
    const sources = Array.from(this.servers, ({ tasks }) => [...tasks.all]).flat()
    return Effect.forEach(sources, ({ parked }) => parked).pipe(
      Effect.map((all) => {
        const sum = (state: keyof ParkedByState) => all.reduce((sum, counts) => sum + counts[state], 0)
        this.counts = { asking: sum("asking"), sleeping: sum("sleeping"), pending: sum("pending") }
      }),
      Effect.ignoreCause,
      Effect.ensuring(Effect.sync(() => (this.looking = false)))
    )
  }
}

/** Registers the gauges until the scope closes. */
export const gauges = (
  servers: ReadonlySet<Observed>,
  clock: Clock.Clock,
  context: Context.Context<never>
): Effect.Effect<void, never, Scope.Scope> => {
  const count = (of: (typeof states)[number] | "questions") => (): { readonly value: number } => {
    let tasks = 0
    for (const server of servers) for (const source of server.tasks.all) tasks += source.count()[of]
    return { value: tasks }
  }
  return Effect.gen(function* () {
    const fork = yield* FiberSet.makeRuntime<never, void>()
    const parked = new ParkedTasks(servers, clock, fork)
    for (const state of states) {
      yield* read(value(serverMetrics.tasks, { "mcp.task.state": state }), context, count(state))
    }
    for (const state of parkedStates) {
      const metric = value(serverMetrics.tasksParked, { "mcp.task.state": state })
      yield* read(metric, context, () => ({ value: parked.count(state) }))
    }
    yield* read(value(serverMetrics.taskQuestions), context, count("questions"))
  })
}

/** Tool names are the server's own, so they are safe to use as attributes. */
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
