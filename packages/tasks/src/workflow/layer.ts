/**
 * Tasks on the workflow engine of Effect: each is an execution of a workflow.
 *
 * `Once.run` is an activity, an answer a durable deferred, the wake of `Once.sleep` a durable clock, and a cancel interrupts the execution.
 * The engine lists nothing and knows no callers: the tasks that they read lie in a store beside it.
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
  /** The name of the workflow; servers of one engine that differ in their tools take different names. Default `"mcp/tasks"`. */
  readonly name?: string | undefined
  /** Where the tasks lie that callers read, in a database for servers with an engine alone. Default: the memory of the process. */
  readonly store?: Layer.Layer<TaskStore | Journal, E, R> | undefined
}

/** How many tasks are started at once. */
const maxStarted = 20

/** Starts tasks whose node died after it had created them, and before the engine stored that they run. */
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
    Cause.hasInterruptsOnly(cause) ? Effect.failCause(cause) : Effect.logWarning("The store of tasks failed", cause)
  )
  return Effect.forever(Effect.andThen(logged, Effect.sleep(lease / 3)))
}

const make = ({ name = "mcp/tasks", ...limits }: Omit<WorkflowOptions, "store">) =>
  Effect.gen(function* () {
    const engine = yield* WorkflowEngine
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
            // Before the end of the registration, which waits for the executions.
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
 * Tasks on Effect's workflow engine, for programs that have one: in memory, or on a cluster. A step is an activity, an answer a durable
 * deferred, the end of a sleep a durable clock. The page about long work says which promises the engine cannot keep.
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
