/**
 * An execution of the workflow of a task: runs of the handler, until the task has ended.
 *
 * A run that only waits is parked as on any other store, and the execution suspends: an answer or a clock of the engine resumes it, on any
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
/** How long an execution is kept that starts while the server stops, in milliseconds. */
const moment = 50
/** How often an execution looks for the tool of its task on a runner that does not have it, in milliseconds. */
const look = 1000

export interface Serving extends EngineServer {
  /** Completes when the server stops. */
  readonly stopping: Effect.Effect<void>
  readonly isStopping: () => boolean
}

/** What an execution does after a run. */
type Next = "over" | "again" | Wake

/** A runner of another release may not have the tool; the execution moves to one that has when this one stops. */
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

/** One run of the handler. */
const ran = Effect.fnUntraced(function* (
  { engine, journal, runs, store }: Options,
  server: Serving,
  task: string,
  instance: Instance
): Effect.fn.Return<Next> {
  if (server.isStopping()) {
    // The engine has started the execution again, and does not yet know that this runner stops.
    yield* Effect.sleep(moment)
    return yield* Effect.interrupt
  }
  const taken = yield* server.take(task)
  if (Option.isNone(taken)) return "over"
  const claimed = taken.value
  const { entries, lease } = claimed
  // The first lease was that of the request: no run had it.
  const attempts = claimed.attempts === lease.epoch ? lease.epoch - 1 : claimed.attempts
  const run = newRun(instance, claimed, attempts)
  runs.set(lease, run)
  // A program may interrupt the execution by the engine alone.
  const cancelled = Effect.suspend(() =>
    instance.interrupted ? Effect.ignore(store.cancel(task, run.owner, "Its execution was interrupted")) : Effect.void
  )
  yield* within(
    engine,
    instance,
    Workflow.addFinalizer(() => cancelled)
  )
  const ready = Effect.raceFirst(toolIsThere(server, claimed), Effect.asVoid(journal.lost(lease)))
  // Steps and sleeps are the engine's.
  const whole = server.run({ ...claimed, attempts, entries: entries.filter(({ _tag }) => _tag === "Question") })
  const isStopping = yield* Effect.raceFirst(
    Effect.as(Effect.andThen(ready, whole), false),
    Effect.as(server.stopping, true)
  )
  if (instance.suspended) return yield* Workflow.suspend(instance)
  // Without a result the engine runs the execution again, on another runner where this one stops.
  if (isStopping || run.isStopped) return yield* Effect.interrupt
  if (run.wake !== undefined) return run.wake
  const lost = yield* journal.renew(journal.node, [lease])
  if (lost.length === 0) return "again"
  const { reason } = yield* journal.lost(lease)
  // The execution is another runner's by now: this one is to be interrupted, and must not end it.
  return reason === "taken" ? yield* Effect.never : "over"
})

/** Suspends the execution until it may go on; returns where that is now. */
const suspended = Effect.fnUntraced(function* (
  engine: EngineService,
  workflow: TaskWorkflow,
  instance: Instance,
  { answers, at }: Wake
): Effect.fn.Return<void> {
  const clock = at === undefined ? undefined : clockUntil(at, yield* Clock.currentTimeMillis)
  const questions = answers.map(answerOf)
  const names = [...questions, ...(clock === undefined ? [] : [clock.deferred])].map(({ name }) => name)
  // Before the look: what is done from here on resumes the execution.
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

/** The execution of a task on this runner. It ends with its task. */
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
                Effect.andThen(Effect.logWarning("The store of tasks failed", cause), Effect.sleep(pause)),
                "again" as const
              )
        )
        if (next === "over") return
        if (next !== "again") yield* suspended(options.engine, workflow, instance, next)
      }
    })
