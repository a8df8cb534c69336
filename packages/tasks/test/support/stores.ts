/** The available databases, each with a way to open several stores on one place, like several processes. */
import type { Options, TaskTables } from "@effect-mcp/tasks/postgres"
import type { Journal } from "@effect-mcp/tasks/Journal"
import type { TaskStore } from "@effect-mcp/tasks/TaskStore"
import type { SqlClient } from "effect/sql/SqlClient"
import { type Context, Effect, type Scope } from "effect"
import * as Postgres from "./postgres.ts"
import * as Sqlite from "./sqlite.ts"

export interface Opened {
  readonly context: Context.Context<TaskStore | Journal | TaskTables>
  /** The client of the database. */
  readonly sql: SqlClient
  readonly store: TaskStore["Service"]
  readonly journal: Journal["Service"]
}

export interface Database {
  readonly name: string
  /** Number of random histories in an ordinary run. */
  readonly runs: number
  /** Why it cannot be tested here. */
  readonly missing: string | undefined
  /** Creates a new, empty place, and returns an effect that opens a store on it. */
  readonly place: Effect.Effect<(options?: Options) => Effect.Effect<Opened, never, Scope.Scope>, never, Scope.Scope>
}

const sqlite: Database = {
  name: "SQLite",
  runs: 60,
  missing: undefined,
  place: Effect.map(Sqlite.file, (file) => (options?: Options) => Sqlite.open({ ...options, file }))
}

const postgres: Database = {
  name: "Postgres",
  runs: 15,
  missing: Postgres.missing,
  place: Effect.map(Postgres.schema, (name) => (options?: Options) => Postgres.open(name, options))
}

export const databases: ReadonlyArray<Database> = [sqlite, postgres]
