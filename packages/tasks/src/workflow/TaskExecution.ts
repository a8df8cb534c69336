/**
 * An execution of a task's workflow: runs the handler until the task has ended.
 *
 * A run that only waits is parked as in any other store, and the execution suspends. An answer or a clock of the engine resumes it on any
 * runner.
 */
import type { Claimed, EngineServer, Wake } from "../store/Journal.ts"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Workflow from "effect/workflow/Workflow"
import { WorkflowInstance } from "effect/workflow/WorkflowEngine"
import type { Options } from "./EngineJournal.ts"
import type { Run } from "./Runs.ts"
import { answerOf, clockUntil, type EngineService, type Instance, type TaskWorkflow, within } from "./TaskWorkflow.ts"

/** How long an execution waits after its store failed, in milliseconds. */
const pause = 1000
/** How long an execution that starts while the server is stopping waits, in milliseconds. */
const moment = 50
/** Interval in milliseconds at which an execution looks for its task's tool on a runner that lacks it. */
const look = 1000

export interface Serving extends EngineServer {
  /** Completes when the server is stopping. */
  readonly stopping: Effect.Effect<void>
  readonly isStopping: () => boolean
}

/** Next step of an execution after a run. */
type Next = "over" | "again" | Wake

/** Waits until the tool is available. A runner of another release may lack it, and the execution moves on when that runner stops. */
const toolIsThere = (server: EngineServer, claimed: Claimed): Effect.Effect<void> =>
  Effect.suspend(() =>
    server.tools().includes(claimed.input.tool)
      ? Effect.void
      : Effect.andThen(Effect.sleep(look), toolIsThere(server, claimed))
  )

const newRun = (instance: Instance, { entries, input }: Claimed, attempts: number): Run => ({
  instance,
  owner: input.owner,
  closed: new Set(
    entries.flatMap((entry) => (entry._tag === "Question" && entry.answer !== undefined ? [entry.key] : []))
  ),
  isRetry: attempts > 1,
  isStopped: false,
  bytes: 0,
  entries: 0,
  failures: new Map(),
  wake: undefined
})

/** Runs the handler once. */
const ran = Effect.fnUntraced(function* (
  { engine, journal, runs, store }: Options,
  server: Serving,
  task: string,
  instance: Instance
): Effect.fn.Return<Next> {
  if (server.isStopping()) {
    // The engine has restarted the execution, and does not know yet that this runner is stopping.
    yield* Effect.sleep(moment)
    return yield* Effect.interrupt
  }
  const taken = yield* server.take(task)
  if (Option.isNone(taken)) return "over"
  const claimed = taken.value
  const { entries, lease } = claimed
  // The first lease belonged to the request, and no run had it.
  const attempts = claimed.attempts === lease.epoch ? lease.epoch - 1 : claimed.attempts
  const run = newRun(instance, claimed, attempts)
  runs.set(lease, run)
  // A program may interrupt the execution through the engine alone.
  const cancelled = Effect.suspend(() =>
    instance.interrupted
      ? Effect.ignore(store.cancel(task, run.owner, "The workflow execution was interrupted"))
      : Effect.void
  )
  yield* within(
    engine,
    instance,
    Workflow.addFinalizer(() => cancelled)
  )
  const ready = Effect.raceFirst(toolIsThere(server, claimed), Effect.asVoid(journal.lost(lease)))
  // The engine keeps steps and sleeps.
  const whole = server.run({ ...claimed, attempts, entries: entries.filter(({ _tag }) => _tag === "Question") })
  const isStopping = yield* Effect.raceFirst(
    Effect.as(Effect.andThen(ready, whole), false),
    Effect.as(server.stopping, true)
  )
  if (instance.suspended) return yield* Workflow.suspend(instance)
  // Without a result the engine runs the execution again, on another runner if this one is stopping.
  if (isStopping || run.isStopped) return yield* Effect.interrupt
  if (run.wake !== undefined) return run.wake
  const lost = yield* journal.renew(journal.node, [lease])
  if (lost.length === 0) return "again"
  const { reason } = yield* journal.lost(lease)
  // Another runner now has the execution. This one will be interrupted, and must not end it.
  return reason === "taken" ? yield* Effect.never : "over"
})

/** Suspends the execution until it can continue. Returns if that is already the case. */
const suspended = Effect.fnUntraced(function* (
  engine: EngineService,
  workflow: TaskWorkflow,
  instance: Instance,
  { answers, at }: Wake
): Effect.fn.Return<void> {
  const clock = at === undefined ? undefined : clockUntil(at, yield* Clock.currentTimeMillis)
  const questions = answers.map(answerOf)
  const names = [...questions, ...(clock === undefined ? [] : [clock.deferred])].map(({ name }) => name)
  // Registered before looking, so that anything that happens afterwards resumes the execution.
  for (const name of names) instance.awaitedDeferreds.set(name, 1)
  if (clock !== undefined) yield* engine.scheduleClock(workflow, { executionId: instance.executionId, clock })
  const given = [
    ...questions.map((question) => Effect.map(engine.deferredResult(question), Option.isSome)),
    ...(clock === undefined ? [] : [Effect.map(engine.deferredResult(clock.deferred), Option.isSome)])
  ]
  let isThere = false
  for (const look of given) isThere ||= yield* within(engine, instance, look)
  const forgotten = Effect.sync(() => names.forEach((name) => instance.awaitedDeferreds.delete(name)))
  return yield* isThere ? forgotten : Workflow.suspend(instance)
})

/** Creates a task's execution on this runner. It ends with its task. */
export const make =
  (options: Options, workflow: TaskWorkflow, server: Serving) =>
  ({ task }: { readonly task: string }): Effect.Effect<void, never, WorkflowInstance> =>
    Effect.gen(function* () {
      const instance = yield* WorkflowInstance
      while (true) {
        const next = yield* Effect.catchCause(ran(options, server, task, instance), (cause) =>
          Cause.hasInterruptsOnly(cause)
            ? Effect.failCause(cause)
            : Effect.as(
                Effect.andThen(Effect.logWarning("The task store failed", cause), Effect.sleep(pause)),
                "again" as const
              )
        )
        if (next === "over") return
        if (next !== "again") yield* suspended(options.engine, workflow, instance, next)
      }
    })
