/** Puts together what the server's half of tasks shares, from the store of the context. */
import * as TaskSource from "@effect-mcp/server/internal/TaskSource"
import * as allObservers from "@effect-mcp/server/internal/allObservers"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Audit from "../run/Audit.ts"
import { observedStore } from "../run/observedStore.ts"
import * as TaskSupervisor from "../run/TaskSupervisor.ts"
import { Journal } from "../store/Journal.ts"
import { TaskStore } from "../store/TaskStore.ts"
import { ResultWaits } from "./ResultWaits.ts"
import { Routes } from "./Routes.ts"
import type { Service } from "./Service.ts"
import { sourceOf } from "./View.ts"

export interface Options {
  /** How long a task is kept, from its creation; one that still runs then is interrupted and fails. Default 1 day. */
  readonly ttl?: Duration.Input | undefined
  /** The longest time that a client may ask for (2025-11-25), of `ttl` at least. Default 7 days. */
  readonly maxTtl?: Duration.Input | undefined
  /** How long clients should wait between two reads. Default 1 second. */
  readonly pollInterval?: Duration.Input | undefined
  /** Requests `tasks/result` of one caller that wait at once (2025-11-25). Default 64. */
  readonly maxWaits?: number | undefined
  /** Bytes of the result of a task, as JSON: a task with a longer one fails. Default 16 MiB; tools have limits of their own below it. */
  readonly resultBytes?: number | undefined
  /**
   * How long the steps that run at a shutdown may take to end and be recorded; then, or at once where none runs, other nodes continue the
   * tasks. Zero: at once, and the steps run again. Default 10 seconds.
   */
  readonly drain?: Duration.Input | undefined
  /**
   * The claims of a principal that its tasks keep, beside subject, issuer and scopes: all that handlers of tasks see. They are stored, and
   * no token belongs among them. Default none.
   */
  readonly claims?: ReadonlyArray<string> | undefined
}

/** Requests per second and caller of each method for tasks, at least. */
const leastRate = 1000
/** Tasks that one caller may read as often as four times in `pollInterval`. */
const readAtOnce = 64

/** A whole number of milliseconds, at least one. */
const millis = (duration: Duration.Input): number =>
  Math.max(1, Math.round(Duration.toMillis(Duration.fromInputUnsafe(duration))))

/** In a scope, whose end interrupts the tasks that run. */
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
    const stored = yield* TaskStore
    const interval = millis(pollInterval)
    const observer = yield* allObservers.current
    const { journal, store } = yield* observedStore(yield* Audit.make(stored, yield* Journal), observer)
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
    changed = yield* TaskSource.add(sourceOf({ journal, store, supervisor }))
    return {
      store,
      routes: yield* Routes.make(stored),
      waits: new ResultWaits(maxWaits),
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
