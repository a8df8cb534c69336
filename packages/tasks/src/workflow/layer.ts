/**
 * Runs tasks on Effect's workflow engine, with each task as a workflow execution.
 *
 * `Once.run` becomes an activity, an answer a durable deferred, and the end of `Once.sleep` a durable clock. Cancelling a task interrupts
 * its execution. The engine has no lists and doesn't know callers, so a store next to it keeps the tasks for reading.
 */
import * as Memory from "../store/memory.ts"
import { type Engine, Journal, type EngineServer } from "../store/Journal.ts"
import { defaultLimits, TaskStore } from "../store/TaskStore.ts"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Latch from "effect/Latch"
import * as Layer from "effect/Layer"
import { WorkflowEngine } from "effect/workflow/WorkflowEngine"
import * as EngineJournal from "./EngineJournal.ts"
import * as EngineStore from "./EngineStore.ts"
import * as Execution from "./TaskExecution.ts"
import type { Runs } from "./Runs.ts"
import * as TaskWorkflow from "./TaskWorkflow.ts"

export interface WorkflowOptions<E = never, R = never> extends Partial<EngineJournal.JournalLimits> {
  /** Workflow name. If servers with different tools share an engine, each needs a different name. Default `"mcp/tasks"`. */
  readonly name?: string | undefined
  /** Store for the tasks that callers read, for example a database. Defaults to this process's memory. */
  readonly store?: Layer.Layer<TaskStore | Journal, E, R> | undefined
}

/** Maximum number of tasks to start at the same time. */
const maxStarted = 20

/** Starts tasks whose node died after creating them but before the engine had stored that they are running. */
const startingMissed = (
  { lease, unstarted }: Journal["Service"],
  server: EngineServer,
  start: Engine["start"]
): Effect.Effect<never> => {
  const look = Effect.flatMap(
    Effect.suspend(() => unstarted(server.tools(), maxStarted)),
    Effect.forEach(start, { discard: true })
  )
  const logged = Effect.catchCause(look, (cause) =>
    Cause.hasInterruptsOnly(cause) ? Effect.failCause(cause) : Effect.logWarning("The task store failed", cause)
  )
  return Effect.forever(Effect.andThen(logged, Effect.sleep(lease / 3)))
}

const make = ({ name = "mcp/tasks", ...limits }: Omit<WorkflowOptions, "store">) =>
  Effect.gen(function* () {
    const engine = yield* WorkflowEngine
    // By lease: the engine resumes executions by the lease alone.
    const runs: Runs = new WeakMap()
    const options: EngineJournal.Options = {
      engine,
      runs,
      journal: yield* Journal,
      store: yield* TaskStore,
      limits: { ...defaultLimits, ...limits }
    }
    const workflow = TaskWorkflow.make(name)
    const runFork = Effect.runForkWith(yield* Effect.context<never>())
    const isolate: EngineStore.Isolate = (effect) => Effect.suspend(() => Fiber.join(runFork(effect)))
    const registered = Latch.makeUnsafe(false)
    const tasks: Omit<Engine, "step"> = {
      start: (task) =>
        Effect.andThen(
          registered.await,
          Effect.asVoid(engine.execute(workflow, { executionId: task, payload: { task }, discard: true }))
        ),
      serve: (server) =>
        Effect.scoped(
          Effect.gen(function* () {
            const stopped = Deferred.makeUnsafe<void>()
            const serving = {
              ...server,
              stopping: Deferred.await(stopped),
              isStopping: () => Deferred.isDoneUnsafe(stopped)
            }
            yield* engine.register(workflow, Execution.make(options, workflow, serving))
            // Runs before the registration ends, which waits for the executions.
            yield* Effect.addFinalizer(() => Deferred.succeed(stopped, undefined))
            registered.openUnsafe()
            return yield* startingMissed(options.journal, server, tasks.start)
          })
        )
    }
    return Context.make(TaskStore, EngineStore.make(options, workflow, isolate)).pipe(
      Context.add(Journal, EngineJournal.make(options, tasks))
    )
  })

/**
 * Runs tasks on Effect's workflow engine, in memory or on a cluster, for programs that already use one. A step becomes an activity, an
 * answer a durable deferred, and the end of a sleep a durable clock. The page on long-running work lists the guarantees that the engine
 * can't provide.
 *
 * @example
 * ```ts
 * import { Tasks } from "@effect-mcp/tasks"
 * import * as Workflow from "@effect-mcp/tasks/workflow"
 * import { Layer } from "effect"
 * import { WorkflowEngine } from "effect/workflow"
 *
 * export const tasks = Tasks.layerStore().pipe(
 *   Layer.provide(Workflow.layer()),
 *   Layer.provide(WorkflowEngine.layerMemory)
 * )
 * ```
 */
export const layer = <E = never, R = never>({
  store = Memory.layer(),
  ...options
}: WorkflowOptions<E, R> = {}): Layer.Layer<TaskStore | Journal, E, WorkflowEngine | R> =>
  Layer.provide(Layer.effectContext(make(options)), store)
