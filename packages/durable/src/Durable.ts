/**
 * Tasks that survive their process: `TaskStore` and `Journal` of the package tasks in a database.
 *
 * A database is loaded when its layer is built: a program that uses one does not load the other.
 */
import type { Journal } from "@effect-mcp/tasks/Journal"
import type { TaskStore } from "@effect-mcp/tasks/TaskStore"
import type { PgClient } from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { SqlClient } from "effect/sql/SqlClient"
import type { WorkflowEngine } from "effect/workflow/WorkflowEngine"
import type { SqliteOptions } from "./sqlite/layer.ts"
import type { Options } from "./store/Tables.ts"
import type { WorkflowOptions } from "./workflow/layer.ts"

export type { SqliteOptions } from "./sqlite/layer.ts"
export type { Options } from "./store/Tables.ts"
export type { WorkflowOptions } from "./workflow/layer.ts"

/**
 * Tasks in a SQLite file, by `node:sqlite`. Its `SqlClient` is for tables of your own in that file, and for `Once.transaction`; their names
 * must not begin with `mcp_`.
 *
 * @example
 * ```ts
 * import { Durable } from "@effect-mcp/durable"
 * import { Tasks } from "@effect-mcp/tasks"
 * import { Layer } from "effect"
 *
 * export const tasks = Layer.provide(Tasks.layerStore(), Durable.layerSqlite({ file: "tasks.db" }))
 * ```
 */
export const layerSqlite = (options: SqliteOptions): Layer.Layer<TaskStore | Journal | SqlClient> =>
  Layer.unwrap(
    Effect.map(
      Effect.promise(() => import("./sqlite/layer.ts")),
      ({ layer }) => layer(options)
    )
  )

/**
 * Tasks in Postgres, by `@effect/sql-pg`, for any number of nodes. A node has one connection beside its pool: it
 * waits there for changes, and shows that it lives.
 *
 * @example
 * ```ts
 * import { Durable } from "@effect-mcp/durable"
 * import { Tasks } from "@effect-mcp/tasks"
 * import { PgClient } from "@effect/sql-pg"
 * import { Layer, Redacted } from "effect"
 *
 * const database = PgClient.layer({ url: Redacted.make("postgres://localhost/tasks") })
 * const store = Layer.provide(Durable.layerPostgres(), database)
 *
 * export const tasks = Layer.provide(Tasks.layerStore(), store)
 * ```
 */
export const layerPostgres = (options: Options = {}): Layer.Layer<TaskStore | Journal, never, PgClient> =>
  Layer.unwrap(
    Effect.map(
      Effect.promise(() => import("./postgres/layer.ts")),
      ({ layer }) => layer(options)
    )
  )

/**
 * Tasks on Effect's workflow engine, for programs that have one: in memory, or on a cluster. A step is an activity, an answer a durable
 * deferred, the end of a sleep a durable clock. The page about long work says which promises the engine cannot keep.
 *
 * @example
 * ```ts
 * import { Durable } from "@effect-mcp/durable"
 * import { Tasks } from "@effect-mcp/tasks"
 * import { Layer } from "effect"
 * import { WorkflowEngine } from "effect/workflow"
 *
 * export const tasks = Tasks.layerStore().pipe(
 *   Layer.provide(Durable.layerWorkflow()),
 *   Layer.provide(WorkflowEngine.layerMemory)
 * )
 * ```
 */
export const layerWorkflow = <E = never, R = never>(
  options: WorkflowOptions<E, R> = {}
): Layer.Layer<TaskStore | Journal, E, WorkflowEngine | R> =>
  Layer.unwrap(
    Effect.map(
      Effect.promise(() => import("./workflow/layer.ts")),
      ({ layer }) => layer(options)
    )
  )
