/** Builds the state shared by the server side of tasks, using the store in the context. */
import { addTaskSource, currentObserver } from "@effect-mcp/server/internal/observing"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Audit from "../run/Audit.ts"
import { observedStore } from "../run/observedStore.ts"
import * as TaskSupervisor from "../run/TaskSupervisor.ts"
import { checkedJournal, checkedStore } from "../store/checked.ts"
import { Journal } from "../store/Journal.ts"
import { TaskStore } from "../store/TaskStore.ts"
import { ResultWaiters } from "./ResultWaiters.ts"
import { Routes } from "./Routes.ts"
import type { Service } from "./Service.ts"
import { sourceOf } from "./View.ts"

export interface Options {
  /** How long to keep a task after its creation. If it is still running then, it is interrupted and fails. Default 1 day. */
  readonly ttl?: Duration.Input | undefined
  /** Maximum TTL that a client may request (2025-11-25). Must be at least `ttl`. Default 7 days. */
  readonly maxTtl?: Duration.Input | undefined
  /** How long clients should wait between reads. Default 1 second. */
  readonly pollInterval?: Duration.Input | undefined
  /** Maximum number of pending `tasks/result` requests per caller (2025-11-25). Default 64. */
  readonly maxWaits?: number | undefined
  /** Maximum JSON size of a task's result, in bytes. A task with a larger result fails. Tools have lower limits. Default 16 MiB. */
  readonly resultBytes?: number | undefined
  /**
   * How long to let running steps finish and be recorded at shutdown. After that, or immediately if no step is running, other nodes
   * continue the tasks. If zero, steps are interrupted and run again. Default 10 seconds.
   */
  readonly drain?: Duration.Input | undefined
  /**
   * Claims to keep with a principal's tasks, besides the subject, issuer and scopes. A task's handler sees no other claims. They are
   * stored, so don't include tokens. Default: none.
   */
  readonly claims?: ReadonlyArray<string> | undefined
}

/** Minimum rate limit for each task method, in requests per second and caller. */
const leastRate = 1000
/** Number of tasks that one caller may read four times per `pollInterval`. */
const readAtOnce = 64

/** Converts to a whole number of milliseconds, at least one. */
const millis = (duration: Duration.Input): number =>
  Math.max(1, Math.round(Duration.toMillis(Duration.fromInputUnsafe(duration))))

/** Creates the service in a scope. When the scope closes, running tasks are interrupted. */
export const makeService = ({
  claims = [],
  drain = "10 seconds",
  maxTtl = "7 days",
  maxWaits = 64,
  pollInterval = "1 second",
  resultBytes = 16 * 1024 * 1024,
  ttl = "1 day"
}: Options): Effect.Effect<Service, never, TaskStore | Journal | Scope.Scope> =>
  Effect.gen(function* () {
    const stored = checkedStore(yield* TaskStore)
    const interval = millis(pollInterval)
    const observer = yield* currentObserver
    const { journal, store } = yield* observedStore(
      yield* Audit.make({ store: stored, journal: checkedJournal(yield* Journal) }),
      observer
    )
    let changed = () => {}
    const supervisor = yield* Effect.provideService(
      TaskSupervisor.make({
        drain: Duration.toMillis(Duration.fromInputUnsafe(drain)),
        observer,
        changed: () => changed()
      }),
      Journal,
      journal
    )
    changed = yield* addTaskSource(sourceOf({ journal, store, supervisor }))
    return {
      store,
      routes: yield* Routes.make(stored),
      waits: new ResultWaiters(maxWaits),
      journal,
      supervisor,
      claims,
      ttl: millis(ttl),
      maxTtl: Math.max(millis(ttl), millis(maxTtl)),
      pollInterval: interval,
      resultBytes,
      rateLimit: Math.max(leastRate, Math.ceil((4 * readAtOnce * 1000) / interval))
    }
  })
