/**
 * The store on a SQLite file.
 *
 * Its clock is that of the machine. Another process on the file has no way to tell of a change: the file is looked at instead, by a number
 * that SQLite has in memory. A node names its host and process, so that one which has ended is known to be gone.
 */
import { hasEnded, machine } from "@effect-mcp/server/internal/processes"
import type { Journal } from "../store/Journal.ts"
import type { TaskStore } from "../store/TaskStore.ts"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as SqlClient from "effect/sql/SqlClient"
import { hostname } from "node:os"
import { Changes } from "../sql/Changes.ts"
import type { Dialect } from "../sql/Dialect.ts"
import * as Store from "../sql/Store.ts"
import type { Options } from "../sql/Tables.ts"
import * as Client from "./Client.ts"

export interface SqliteOptions extends Options {
  /**
   * The path of the database, made where it is not there. Several processes of one machine may share it; no network file system.
   * `:memory:` keeps it in this process, for tests: nothing survives.
   */
  readonly file: string
  /**
   * What a task survives: `"kill"`, the end of its process, or `"power"`, the end of the machine as well. The second waits for the disk at
   * each write, and the process does nothing else meanwhile. Default `"kill"`.
   */
  readonly survives?: "kill" | "power" | undefined
}

/** How often the file is looked at for changes of other processes, in milliseconds. */
const look = 100

/** A file is used on one machine. */
const here = machine ?? hostname()
const place = `${here}:${process.pid}:`
/** The nodes of this process, which live. */
const own = new Set<string>()

/** Whether a node is of this machine and its process has ended, or its number is that of this process by now. */
const isGone = (node: string): boolean => {
  const [host, pid, id] = node.split(":")
  if (id === undefined || host !== here || own.has(node)) return false
  return node.startsWith(place) || hasEnded(Number(pid))
}

const dialectOf = (sql: SqlClient.SqlClient, node: string): Dialect => {
  const now = "mcp_now()"
  const due = `SELECT node, CASE WHEN due <= ${now} THEN 1 ELSE 0 END AS due FROM mcp_task WHERE due <= ${now}
    UNION SELECT node, 0 FROM mcp_task WHERE node IS NOT NULL`
  return {
    sql,
    node,
    text: (statement) => statement,
    // SQLite stores UTF-8, which has no lone surrogates.
    kept: (text) => text.toWellFormed(),
    now,
    among: (column) => `${column} IN (SELECT value FROM json_each(?))`,
    // A transaction has the file to itself.
    lock: { share: "", update: "", skip: "" },
    exclusively: (migrations) => sql.withTransaction(migrations),
    // A statement has ended before any fiber could interrupt it.
    left: (effect) => effect,
    // Another node on the file waits until the transaction of a frozen process ends.
    bounded: () => Effect.void,
    sight: Effect.map(sql.unsafe<{ readonly node: string | null; readonly due: number }>(due), (rows) => {
      const nodes = new Set(rows.flatMap(({ node }) => (node === null ? [] : [node])))
      return { due: rows.some(({ due }) => due === 1), gone: [...nodes].filter(isGone) }
    }),
    // Other processes look at the file ten times a second.
    tell: () => {}
  }
}

/**
 * Tasks in a SQLite file, by `node:sqlite`. Its `SqlClient` is for tables of your own in that file, and for `Once.transaction`; their names
 * must not begin with `mcp_`.
 *
 * @example
 * ```ts
 * import { Tasks } from "@effect-mcp/tasks"
 * import * as Sqlite from "@effect-mcp/tasks/sqlite"
 * import { Layer } from "effect"
 *
 * export const tasks = Layer.provide(Tasks.layerStore(), Sqlite.layer({ file: "tasks.db" }))
 * ```
 */
export const layer = ({
  file,
  survives = "kill",
  ...options
}: SqliteOptions): Layer.Layer<TaskStore | Journal | SqlClient.SqlClient> =>
  Layer.effectContext(
    Effect.gen(function* () {
      const node = place + crypto.randomUUID()
      yield* Effect.acquireRelease(
        Effect.sync(() => own.add(node)),
        () => Effect.sync(() => own.delete(node))
      )
      const clock = yield* Clock.Clock
      const { dataVersion, sql } = yield* Client.make({ file, survives, clock })
      const changes = new Changes()
      let seen = dataVersion()
      const others = Effect.sync(() => {
        const version = dataVersion()
        if (version === seen) return false
        seen = version
        changes.woken()
        return true
      })
      const store = yield* Store.make(dialectOf(sql, node), changes, { look, others }, options)
      return Context.add(store, SqlClient.SqlClient, sql)
    })
  )
