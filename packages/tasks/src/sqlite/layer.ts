/**
 * A task store in a SQLite file.
 *
 * It uses the machine's clock. Other processes that use the file can't announce changes, so it polls a counter that SQLite keeps in memory.
 * A node's name includes its host and process ID, so that a dead process can be recognized.
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
import type { Options, TaskTables } from "../sql/Tables.ts"
import * as Client from "./Client.ts"

export type { TaskTables } from "../sql/Tables.ts"

export interface SqliteOptions extends Options {
  /**
   * Path of the database, which is created if missing. Several processes on the same machine may share it, but not over a network file
   * system. `:memory:` keeps the database in this process's memory, for tests; nothing is kept when it exits.
   */
  readonly file: string
  /**
   * Events that tasks survive: `"kill"` means the end of the process, and `"power"` also means a power failure. With `"power"`, every write
   * waits for the disk and blocks the process in the meantime. Default `"kill"`.
   */
  readonly survives?: "kill" | "power" | undefined
}

/** Interval at which the file is checked for changes by other processes, in milliseconds. */
const look = 100

/** A file is only used on a single machine. */
const here = machine ?? hostname()
const place = `${here}:${process.pid}:`
/** This process's nodes, which are alive. */
const own = new Set<string>()

/** True if a node on this machine has exited, even if this process has since reused its process ID. */
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
    // SQLite stores UTF-8, which cannot contain lone surrogates.
    kept: (text) => text.toWellFormed(),
    now,
    among: (column) => `${column} IN (SELECT value FROM json_each(?))`,
    // A transaction has the file to itself.
    lock: { share: "", update: "", skip: "" },
    exclusively: (migrations) => sql.withTransaction(migrations),
    // A statement ends before any fiber could interrupt it.
    left: (effect) => effect,
    // Other nodes on the file wait until the transaction of a frozen process ends.
    bounded: () => Effect.void,
    sight: Effect.map(sql.unsafe<{ readonly node: string | null; readonly due: number }>(due), (rows) => {
      const nodes = new Set(rows.flatMap(({ node }) => (node === null ? [] : [node])))
      return { due: rows.some(({ due }) => due === 1), gone: [...nodes].filter(isGone) }
    }),
    // Other processes poll the file ten times a second.
    tell: () => {}
  }
}

/**
 * Keeps tasks in a SQLite file, using `node:sqlite`. You can use its `SqlClient` for your own tables in the same file, and for
 * `Once.transaction`. Your table names must not start with `mcp_`.
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
}: SqliteOptions): Layer.Layer<TaskStore | Journal | TaskTables | SqlClient.SqlClient> =>
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
