/**
 * Supervises the tasks that run in this process: one fiber each, owned by the server.
 *
 * A task ends with its handler, or is interrupted for a reason: the client cancelled it, its time to live is over, another node has taken
 * it, its lease could not be renewed, or the server is stopping. A task that only waits is parked: it is interrupted, and claimed again
 * when it is due. Finalizers run in every case.
 */
import * as CancelReason from "@effect-mcp/core/CancelReason"
import { BusyMap, Fibers } from "@effect-mcp/core/internal/inFlight"
import type { McpError } from "@effect-mcp/protocol/McpError"
import * as McpErrors from "@effect-mcp/protocol/McpError"
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Replay from "@effect-mcp/server/internal/Replay"
import type { OpenTask } from "@effect-mcp/server/internal/observing"
import type { Observer, TaskRunEnd } from "@effect-mcp/server/Observer"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Latch from "effect/Latch"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import type { TaskOutcome } from "../model/Task.ts"
import {
  type Claimed,
  type Engine,
  Journal,
  type Lease,
  type Lost,
  type EngineServer,
  type Wake
} from "../store/Journal.ts"
import { TaskFailed } from "./TaskInput.ts"
import { type Attempt, openTask } from "./Attempt.ts"
import * as Defects from "./defects.ts"
import { observed } from "./observed.ts"
import { watching } from "./RunActivity.ts"

/** Interval in milliseconds at which to look for expired tasks. */
const sweeping = 60_000
/** Minimum milliseconds between two messages. */
const messageInterval = 1000
/** Milliseconds between attempts to renew leases. */
const retryInterval = 250
/** Maximum number of running tasks in a process, and of tasks claimed at once. */
const maxRunning = 256
const maxClaimed = 20
/** Maximum number of times to claim a task that records nothing new. */
const maxAttempts = 10
/** How long the first claim waits for the server's tools to be registered, in milliseconds. */
const settling = 20

const reasons: { readonly [R in Lost["reason"]]: string } = {
  cancelled: "The task was cancelled",
  expired: "The task did not finish within its time to live (ttl)",
  ended: "The task has already ended",
  taken: "Another node took over the task"
}

export const drained = "The server is shutting down"
const cutOff = "The task's lease could not be renewed"
const parked = "The task is waiting"
const givenUp = McpErrors.internalError(`Gave up after ${maxAttempts} attempts without progress`)

/** Reasons why a run is over. */
type End =
  | { readonly _tag: "Ended" }
  | { readonly _tag: "Stopped"; readonly reason: string }
  | { readonly _tag: "Waits"; readonly wake: Wake }

/** Runs tasks in a scope. */
export interface TaskSupervisor {
  /** This process's name among a store's nodes. */
  readonly node: string
  /** Runs a handler as a lease's task until it ends. Returns its fiber. */
  readonly run: (lease: Lease, attempt: Attempt) => Effect.Effect<Fiber.Fiber<void>>
  /** Claims due tasks whose tool is available, and runs them again, forever. */
  readonly resume: (
    tools: () => ReadonlyArray<string>,
    attempt: (claimed: Claimed) => Effect.Effect<Attempt, McpError>
  ) => Effect.Effect<never>
  /** Replaces the task's message. Writes at most once per second, and the latest message wins. Never waits. */
  readonly progress: (lease: Lease, progress: NonNullable<OpenTask["progress"]>) => void
  /** Returns the running tasks. */
  readonly running: () => ReadonlyArray<OpenTask>
  /** Returns a running task's owner. */
  readonly ownerOf: (id: string) => string | undefined
}

export interface Options {
  /** How long running steps may take to end and be recorded when the scope closes, in milliseconds. */
  readonly drain: number
  readonly observer: Observer | undefined
  /** Called when a run starts or ends. */
  readonly changed: () => void
}

interface Run {
  readonly lease: Lease
  readonly attempt: Attempt
  progress: OpenTask["progress"]
  /** Why the run is over, once it is. */
  end: TaskRunEnd["end"]
  message: string | undefined
  /** When the next message may be written. */
  nextMessage: number
  /** Completed when the handler has ended, or when the run must stop. */
  readonly over: Deferred.Deferred<End>
}

const failedBy = (cause: Cause.Cause<unknown>): McpError | undefined => {
  const defects = cause.reasons.flatMap((reason) => (Cause.isDieReason(reason) ? [reason.defect] : []))
  return defects.find((defect) => defect instanceof TaskFailed)?.error
}

const outcomeOf = (exit: Exit.Exit<JsonObject, McpError>): TaskOutcome => {
  if (Exit.isSuccess(exit)) return { _tag: "Result", result: exit.value }
  const failure = exit.cause.reasons.find(Cause.isFailReason)?.error ?? failedBy(exit.cause)
  const { code, data, message } =
    failure ??
    (Cause.hasInterruptsOnly(exit.cause)
      ? McpErrors.interrupted("The handler interrupted itself")
      : McpErrors.internalError())
  return { _tag: "Error", code, message, ...(data === undefined ? undefined : { data }) }
}

/** Records the end. Logs a handler that died. A logger that throws has no effect. */
const settle = (
  journal: Journal["Service"],
  lease: Lease,
  exit: Exit.Exit<JsonObject, McpError>
): Effect.Effect<void> => {
  const settled = Effect.ignore(journal.settle(lease, outcomeOf(exit)))
  return Exit.isFailure(exit) && Cause.hasDies(exit.cause)
    ? Effect.andThen(Defects.log(`The handler of task ${lease.task} threw an unexpected error`, exit.cause), settled)
    : settled
}

/** Logs store failures. Operations are repeated later, here or by another node. A logger that throws has no effect. */
const logged = <A>(effect: Effect.Effect<A>, message = "The task store failed"): Effect.Effect<A | void> =>
  Effect.catchCause(effect, (cause) =>
    Cause.hasInterruptsOnly(cause)
      ? Effect.failCause(cause)
      : Effect.andThen(Effect.ignoreCause(Effect.logWarning(message, cause)), Effect.sleep(retryInterval))
  )

/**
 * Records how the handler ends. Interrupts it if it is only waiting or must stop. `restore` makes it as interruptible as the supervisor.
 */
const watch = Effect.fnUntraced(function* (
  journal: Journal["Service"],
  run: Run,
  fiber: Fiber.Fiber<JsonObject, McpError>,
  drainTime: number,
  restore: <A>(effect: Effect.Effect<A>) => Effect.Effect<A>
): Effect.fn.Return<void> {
  const { lease } = run
  const { activity, canPark } = run.attempt
  fiber.addObserver(() => Deferred.doneUnsafe(run.over, Effect.succeed({ _tag: "Ended" })))
  const ends: ReadonlyArray<Effect.Effect<End>> = [
    Deferred.await(run.over),
    Effect.map(journal.lost(lease), ({ reason }) => ({ _tag: "Stopped", reason: reasons[reason] })),
    ...(canPark ? [Effect.map(activity.idle, (wake): End => ({ _tag: "Waits", wake }))] : [])
  ]
  const exit = yield* Effect.exit(restore(Effect.raceAllFirst(ends)))
  // Interrupted because the server is stopping. Running steps are recorded, so that the next node need not repeat them.
  const end: End = Exit.isSuccess(exit) ? exit.value : { _tag: "Stopped", reason: drained }
  if (Exit.isFailure(exit)) {
    // Makes only the awaited effect interruptible, because this fiber is already being interrupted.
    yield* Effect.timeoutOption(Effect.interruptible(Effect.raceFirst(Fiber.await(fiber), activity.quiet)), drainTime)
  }
  if (end._tag !== "Ended") run.end = end._tag === "Waits" ? "parked" : "stopped"
  if (end._tag === "Stopped") fiber.interruptUnsafe(undefined, CancelReason.annotation(end.reason))
  if (end._tag === "Waits") fiber.interruptUnsafe(undefined, suspended)
  const ended = yield* Fiber.await(fiber)
  if (end._tag === "Ended" || Exit.isSuccess(ended)) yield* settle(journal, lease, ended)
  else if (end._tag === "Waits") yield* Effect.ignore(journal.park(lease, end.wake))
  else if (end.reason === drained) yield* Effect.ignore(journal.park(lease))
})

/** Shows finalizers that the handler will run again. */
const suspended = Context.merge(Replay.suspension, CancelReason.annotation(parked))

/**
 * Renews a node's leases three times per lease period. If renewing fails for a third of that period, the node stops its tasks before
 * another node may claim them. Time counts from the start of a renewal, because its answer may be late.
 */
const renewing = (journal: Journal["Service"], runs: BusyMap<string, Run>): Effect.Effect<never> => {
  const third = journal.lease / 3
  const renew = Effect.suspend(() =>
    journal.renew(
      journal.node,
      Array.from(runs.values(), ({ lease }) => lease)
    )
  )
  const tried = Effect.retry(Effect.sandbox(renew), { schedule: Schedule.spaced(retryInterval) })
  const once = Effect.flatMap(Effect.timeoutOption(tried, third), (lost) =>
    Effect.sync(() => {
      const stopped = Option.match(lost, {
        onNone: () => [...runs.values()],
        // Leases with an older epoch: the journal's `lost` may not have noticed yet.
        onSome: (leases) =>
          leases.flatMap(({ epoch, task }) => {
            const run = runs.get(task)
            return run?.lease.epoch === epoch ? [run] : []
          })
      })
      const reason = Option.isNone(lost) ? cutOff : reasons.taken
      for (const { over } of stopped) Deferred.doneUnsafe(over, Effect.succeed({ _tag: "Stopped", reason }))
    })
  )
  const ifAny = Effect.suspend(() => (runs.size === 0 ? Effect.void : Effect.orDie(once)))
  return Effect.forever(Effect.all([Effect.sleep(third), ifAny], { concurrency: 2, discard: true }))
}

/** Ends expired tasks, forever. The journal's observers are told about parked ones when they ask. */
const sweeps = (journal: Journal["Service"]): Effect.Effect<never> => {
  const swept = Effect.andThen(Effect.sleep(sweeping), logged(journal.sweep))
  const told = logged(journal.expired, "Failed to report an expired task")
  return Effect.raceFirst(Effect.forever(swept), Effect.forever(told))
}

type Resumed = (
  claimed: Claimed,
  attempt: (claimed: Claimed) => Effect.Effect<Attempt, McpError>
) => Effect.Effect<Fiber.Fiber<void> | void>

/** Runs tasks with an engine instead of claims. */
const onEngine = (
  engine: Engine,
  runFork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>,
  take: EngineServer["take"],
  resumed: Resumed
): Pick<TaskSupervisor, "run" | "resume"> => {
  const called = Latch.makeUnsafe(false)
  return {
    // Not in the request's fiber, whose services differ from the run's services.
    run: ({ task }) =>
      Effect.suspend(() => {
        called.openUnsafe()
        const fiber = runFork(engine.start(task))
        return Effect.as(Fiber.join(fiber), fiber)
      }),
    resume: (tools, attempt) => {
      const ended = (run: Fiber.Fiber<void> | void) =>
        run === undefined ? Effect.void : Effect.onInterrupt(Fiber.await(run), () => Fiber.interrupt(run))
      const run: EngineServer["run"] = (claimed) => Effect.asVoid(Effect.flatMap(resumed(claimed, attempt), ended))
      // A call shows that the tools are registered.
      const ready = Effect.raceFirst(Effect.sleep(settling), called.await)
      return Effect.andThen(ready, engine.serve({ take, tools, run }))
    }
  }
}

/** Claims due tasks and runs them again. */
const claimingOf =
  (journal: Journal["Service"], runs: BusyMap<string, Run>, resumed: Resumed): TaskSupervisor["resume"] =>
  (tools, attempt) => {
    // Runs whatever was claimed. Otherwise a shutdown would leave it leased.
    const claim = Effect.uninterruptibleMask((restore) =>
      Effect.gen(function* () {
        const names = tools()
        const free = Math.min(maxClaimed, maxRunning - runs.size)
        if (names.length === 0 || free <= 0) return 0
        const claimed = yield* restore(journal.claim(journal.node, names, free))
        for (const task of claimed) yield* resumed(task, attempt)
        return claimed.length
      })
    )
    const claimUntilNone = logged(Effect.repeat(claim, { while: (count) => count === maxClaimed }))
    const next = Effect.andThen(logged(journal.due), claimUntilNone)
    return Effect.andThen(Effect.andThen(Effect.sleep(settling), claimUntilNone), Effect.forever(next))
  }

/** Adds a run to the runs of this process. Returns a function that removes it. */
const addedTo =
  (runs: BusyMap<string, Run>, changed: () => void) =>
  (lease: Lease, attempt: Attempt): { readonly run: Run; readonly forget: () => void } => {
    const over = Deferred.makeUnsafe<End>()
    const run: Run = { lease, attempt, progress: undefined, end: "ended", message: undefined, nextMessage: 0, over }
    runs.set(lease.task, run)
    changed()
    const forget = () => {
      if (runs.get(lease.task) === run) runs.delete(lease.task)
      changed()
    }
    return { run, forget }
  }

/**
 * Creates a supervisor in the scope. When it closes, tasks are interrupted and their leases released, so another node continues them at
 * once.
 */
export const make = Effect.fnUntraced(function* (
  options: Options
): Effect.fn.Return<TaskSupervisor, never, Journal | Scope.Scope> {
  const journal = yield* Journal
  const clock = yield* Clock.Clock
  const scope = yield* Scope.Scope
  const context = yield* Effect.context<never>()
  const runFork = Effect.runForkWith(context)
  const runHandler = Effect.runForkWith(watching(context))
  const runs = new BusyMap<string, Run>()
  const fibers = new Fibers()
  const added = addedTo(runs, options.changed)

  yield* Effect.forkScoped(renewing(journal, runs))
  yield* Effect.forkScoped(sweeps(journal))
  // Runs before the renewals end, for all tasks at once.
  yield* Scope.addFinalizer(scope, fibers.end)

  const write = (run: Run): Effect.Effect<void> =>
    Effect.suspend(() => {
      const { message } = run
      run.message = undefined
      run.nextMessage = clock.currentTimeMillisUnsafe() + messageInterval
      return message === undefined ? Effect.void : Effect.ignore(journal.message(run.lease, message))
    })

  const progress: TaskSupervisor["progress"] = (lease, reported) => {
    const run = runs.get(lease.task)
    if (run === undefined) return
    run.progress = reported
    const { message: text } = reported
    if (text === undefined) return
    const isWaiting = run.message !== undefined
    run.message = text
    if (isWaiting) return
    const wait = Math.max(0, run.nextMessage - clock.currentTimeMillisUnsafe())
    fibers.add(runFork(Effect.andThen(Effect.sleep(wait), write(run))))
  }

  const run: TaskSupervisor["run"] = (lease, attempt) =>
    Effect.sync(() => {
      const { forget, run } = added(lease, attempt)
      const handler = runHandler(observed(attempt, lease.task, options.observer, () => run.end))
      const watched = Effect.uninterruptibleMask((restore) => watch(journal, run, handler, options.drain, restore))
      const fiber = runFork(Effect.ensuring(logged(watched), Effect.sync(forget)))
      fibers.add(fiber)
      return fiber
    })

  const resumed: Resumed = (claimed, attempt) =>
    claimed.attempts > maxAttempts
      ? settle(journal, claimed.lease, Exit.fail(givenUp))
      : Effect.matchCauseEffect(attempt(claimed), {
          onSuccess: (attempt) => run(claimed.lease, attempt),
          onFailure: (cause) => settle(journal, claimed.lease, Exit.failCause(cause))
        })

  const claiming = claimingOf(journal, runs, resumed)
  const running = () => runs.values().map(({ attempt, lease, progress }) => openTask(lease.task, attempt, progress))
  const own = {
    node: journal.node,
    progress,
    running,
    ownerOf: (id: string) => runs.get(id)?.attempt.about.owner
  }
  if (journal.engine === undefined) return { ...own, run, resume: claiming }
  return { ...own, ...onEngine(journal.engine, runFork, (task) => journal.take(journal.node, task), resumed) }
})
