/** Both services of a database: its tables brought up to date, and a fiber that looks for what other processes changed. */
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
import { jsonOf, type Options, Tables } from "./Tables.ts"

/** How often a process looks in which no fiber waits, in milliseconds. */
const idle = 500

/** How changes of other processes are seen. */
export interface Poll {
  /** How often while a fiber waits for a change, in milliseconds. */
  readonly look: number
  /** Whether there may be any. */
  readonly others: Effect.Effect<boolean>
}

/** Reads the versions of the tasks that fibers wait for, and lets those look again whose task has another one. */
const polled = (tables: Tables): Effect.Effect<void> =>
  Effect.suspend(() => {
    const { changes, statements } = tables
    const { ids } = changes
    if (ids.length === 0) return Effect.void
    const read = tables.query<{ readonly id: string; readonly version: number }>(statements.versions, [jsonOf(ids)])
    return Effect.map(read, (rows) => changes.polled(rows)).pipe(
      // The next look sees it.
      Effect.ignore
    )
  })

export const make = (
  dialect: Dialect,
  changes: Changes,
  { look, others }: Poll,
  options: Options
): Effect.Effect<Context.Context<TaskStore | Journal>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const tables = new Tables(dialect, changes, options)
    yield* tables.patient<void>(migrate(dialect))
    const looked = Effect.flatMap(others, (any) => (any ? polled(tables) : Effect.void))
    const pause = Effect.suspend(() => Effect.sleep(changes.ids.length > 0 ? look : Math.max(look, idle)))
    yield* Effect.forkScoped(Effect.forever(Effect.andThen(pause, looked)))
    return Context.make(TaskStore, SqlTaskStore.make(tables)).pipe(Context.add(Journal, SqlJournal.make(tables)))
  })
