/**
 * The journal of tasks that run on an engine, which records steps and sleeps and keeps the answers to questions. The store keeps everything
 * that callers see.
 */
import { bytesOf } from "../store/Row.ts"
import {
  type Engine as TaskEngine,
  type Entry,
  type Journal,
  JournalFull,
  type Lease,
  Lost,
  type RunAndRecord
} from "../store/Journal.ts"
import type { Answer } from "../model/Task.ts"
import type { StoreLimits, TaskStore } from "../store/TaskStore.ts"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Activity from "effect/workflow/Activity"
import type { Run, Runs } from "./Runs.ts"
import { answerOf, type EngineService, nameOf, within } from "./TaskWorkflow.ts"

export type JournalLimits = Pick<StoreLimits, "entryBytes" | "journalBytes" | "entries">

export interface Options {
  readonly journal: Journal["Service"]
  readonly store: TaskStore["Service"]
  readonly engine: EngineService
  readonly runs: Runs
  readonly limits: JournalLimits
}

/** The store's placeholder for an answer that only the engine has. */
export const answered: Answer = { _tag: "Result", result: {} }

/** Recorded for a failed attempt of a step. The next attempt is another activity. */
const failedText = ""

const full = (key: string) => new JournalFull({ message: `The task's journal is full; ${key} was not recorded` })

/** True if the run has room for another step. */
const hasRoom = ({ bytes, entries }: Run, limits: JournalLimits, more: number): boolean =>
  more <= limits.entryBytes && bytes + more <= limits.journalBytes && entries < limits.entries

/** Runs one activity per attempt. A failed attempt is not repeated; the earlier run has seen its error. */
const stepIn =
  ({ engine, journal, limits, runs }: Options): RunAndRecord =>
  <E, R>(lease: Lease, key: string, step: Effect.Effect<unknown, E, R>) => {
    const run = runs.get(lease)
    if (run === undefined) return Effect.fail(new Lost({ task: lease.task, reason: "taken" }))
    const attempt = (number: number): Effect.Effect<Entry, E | Lost | JournalFull, R> => {
      if (run.entries >= limits.entries) return Effect.fail(full(key))
      let failed: Cause.Cause<E | JournalFull> | undefined
      let isNew = false
      const text = Effect.flatMap(step, (value) => {
        const text = JSON.stringify(value ?? null)
        return hasRoom(run, limits, bytesOf(text)) ? Effect.succeed(text) : Effect.fail(full(key))
      })
      const execute = Effect.map(Effect.exit(text), (exit) => {
        isNew = true
        if (Exit.isSuccess(exit)) return exit.value
        failed = exit.cause
        return failedText
      })
      const activity = Activity.make({ name: nameOf(key), success: Schema.String, execute })
      const numbered = Effect.provideService(activity, Activity.CurrentAttempt, number)
      return Effect.flatMap(ended(within(engine, run.instance, numbered)), (exit): ReturnType<typeof attempt> => {
        if (failed !== undefined) {
          noteFailure(run, key, number)
          return Effect.failCause(failed)
        }
        if (Exit.isFailure(exit)) {
          // Such an exit is not a failed step: the engine is suspending the execution, or the runner is shutting down.
          run.isStopped ||= Cause.hasInterruptsOnly(exit.cause)
          return Effect.failCause(exit.cause)
        }
        const text = exit.value
        if (text === failedText) {
          noteFailure(run, key, number)
          return attempt(number + 1)
        }
        run.bytes += bytesOf(text)
        run.entries++
        const entry: Entry = { _tag: "Step", key, value: JSON.parse(text) }
        return isNew && run.isRetry ? Effect.as(progressed(journal, lease, run), entry) : Effect.succeed(entry)
      })
    }
    return attempt((run.failures.get(key) ?? 0) + 1)
  }

/** A failed attempt is a row of the engine, which the next attempt in this run does not read again. */
const noteFailure = (run: Run, key: string, number: number): void => {
  run.entries++
  run.failures.set(key, number)
}

/** Runs in a separate fiber, because the engine may interrupt the fiber that runs an activity. */
const ended = <A, E, R>(activity: Effect.Effect<A, E, R>): Effect.Effect<Exit.Exit<A, E>, never, R> =>
  Effect.flatMap(Effect.forkChild(activity, { startImmediately: true }), (fiber) =>
    Effect.onInterrupt(Fiber.await(fiber), () => Fiber.interrupt(fiber))
  )

/** Tells the store that the run has recorded something. */
const progressed = (journal: Options["journal"], lease: Lease, run: Run) => {
  run.isRetry = false
  return journal.record(lease, { _tag: "Step", key: `engine:${lease.epoch}`, value: null })
}

const answer = ({ engine, journal, store }: Options, run: Run, lease: Lease, key: string) => {
  const given = Effect.map(within(engine, run.instance, engine.deferredResult(answerOf(key))), (exit) =>
    Option.map(exit, (exit): Answer => (Exit.isSuccess(exit) ? JSON.parse(exit.value) : answered))
  )
  // The process that received the answer may have ended before its store showed it.
  const close = Effect.suspend(() =>
    run.closed.has(key) ? Effect.void : Effect.ignore(store.answer(lease.task, run.owner, { [key]: answered }))
  )
  return Effect.flatMap(given, (known) =>
    Option.isSome(known)
      ? Effect.as(close, known.value)
      : Effect.flatMap(journal.answer(lease, key), (marker) =>
          Effect.map(
            given,
            Option.getOrElse(() => marker)
          )
        )
  )
}

/** Creates the journal. `engine` starts and serves tasks. */
export const make = (options: Options, engine: Omit<TaskEngine, "step">): Journal["Service"] => {
  const { journal, runs } = options
  const step = stepIn(options)
  return {
    ...journal,
    engine: { ...engine, step },
    transaction: () => undefined,
    record: (lease, entry) =>
      entry._tag === "Sleep" && runs.has(lease)
        ? Effect.map(step(lease, entry.key, Effect.succeed(entry.until)), (recorded) =>
            recorded._tag === "Step" ? { ...entry, until: Number(recorded.value) } : recorded
          )
        : journal.record(lease, entry),
    answer: (lease, key) => {
      const run = runs.get(lease)
      return run === undefined ? journal.answer(lease, key) : answer(options, run, lease, key)
    },
    park: (lease, wake) =>
      Effect.tap(journal.park(lease, wake), () =>
        Effect.sync(() => {
          const run = runs.get(lease)
          if (run === undefined) return
          run.wake = wake
          run.isStopped ||= wake === undefined
        })
      ),
    settle: (lease, outcome, message) =>
      runs.get(lease)?.isStopped === true
        ? Effect.fail(new Lost({ task: lease.task, reason: "taken" }))
        : journal.settle(lease, outcome, message)
  }
}
