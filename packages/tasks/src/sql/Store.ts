/** The services of a database. Upgrades its tables, and starts a fiber that polls for changes made by other processes. */
import { Journal } from "../store/Journal.ts"
import { TaskStore } from "../store/TaskStore.ts"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Changes } from "./Changes.ts"
import type { Dialect } from "./Dialect.ts"
import { migrate } from "./Schema.ts"
import * as SqlJournal from "./SqlJournal.ts"
import * as SqlTaskStore from "./SqlTaskStore.ts"
import { jsonOf, type Options, Tables, TaskTables } from "./Tables.ts"

/** Interval in milliseconds at which an idle process polls. */
const idle = 500

/** How to detect changes made by other processes. */
export interface Poll {
  /** Interval in milliseconds while a fiber waits for a change. */
  readonly look: number
  /** Returns true if there may be changes. */
  readonly others: Effect.Effect<boolean>
}

/** Reads the versions of awaited tasks, and wakes the waiters of tasks that have changed. */
const polled = (tables: Tables): Effect.Effect<void> =>
  Effect.suspend(() => {
    const { changes, statements } = tables
    const { ids } = changes
    if (ids.length === 0) return Effect.void
    const read = tables.query<{ readonly id: string; readonly version: number }>(statements.versions, [jsonOf(ids)])
    return Effect.map(read, (rows) => changes.polled(rows)).pipe(
      // The next poll will see it.
      Effect.ignore
    )
  })

export const make = (
  dialect: Dialect,
  changes: Changes,
  { look, others }: Poll,
  options: Options
): Effect.Effect<Context.Context<TaskStore | Journal | TaskTables>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const tables = new Tables(dialect, changes, options)
    yield* tables.patient<void>(migrate(dialect))
    const looked = Effect.flatMap(others, (any) => (any ? polled(tables) : Effect.void))
    const pause = Effect.suspend(() => Effect.sleep(changes.ids.length > 0 ? look : Math.max(look, idle)))
    yield* Effect.forkScoped(Effect.forever(Effect.andThen(pause, looked)))
    return Context.make(TaskStore, SqlTaskStore.make(tables)).pipe(
      Context.add(Journal, SqlJournal.make(tables)),
      Context.add(TaskTables, tables)
    )
  })
