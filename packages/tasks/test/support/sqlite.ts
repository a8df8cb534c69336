/** Stores on a SQLite file that is removed after the test. */
import * as Sqlite from "@effect-mcp/tasks/sqlite"
import { Context, Effect, Layer } from "effect"
import { Journal } from "@effect-mcp/tasks/Journal"
import { TaskStore } from "@effect-mcp/tasks/TaskStore"
import { SqlClient } from "effect/sql/SqlClient"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** The path of a new file in a separate folder. */
export const file = Effect.map(
  Effect.acquireRelease(
    Effect.promise(() => mkdtemp(join(tmpdir(), "effect-mcp-durable-"))),
    (folder) => Effect.promise(() => rm(folder, { recursive: true, force: true }))
  ),
  (folder) => join(folder, "tasks.db")
)

/** Another store on a file, like in another process. */
export const open = (options: Sqlite.SqliteOptions) => Effect.map(Layer.build(Sqlite.layer(options)), services)

export const services = (context: Context.Context<TaskStore | Journal | Sqlite.TaskTables | SqlClient>) => ({
  context,
  sql: Context.get(context, SqlClient),
  store: Context.get(context, TaskStore),
  journal: Context.get(context, Journal)
})
