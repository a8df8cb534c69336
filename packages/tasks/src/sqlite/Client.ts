/**
 * A `SqlClient` for `node:sqlite` with one file and one connection, built on Effect's SQLite support.
 *
 * Opens the file and sets its pragmas. A statement blocks the process while it runs. If another process is writing, it waits up to 50 ms
 * and then fails with a retryable error.
 */
import type * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Reactivity from "effect/reactivity/Reactivity"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import * as SqlClient from "effect/sql/SqlClient"
import type { Connection } from "effect/sql/SqlConnection"
import { classifySqliteError, SqlError } from "effect/sql/SqlError"
import * as Statement from "effect/sql/Statement"
import * as Stream from "effect/Stream"
import { chmodSync, closeSync, existsSync, openSync, statSync } from "node:fs"
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite"

export interface Options {
  /** Path of the file, which is created if missing. */
  readonly file: string
  /** Events that a stored task survives: a killed process, or also a power failure, which costs a few milliseconds per write. */
  readonly survives: "kill" | "power"
  readonly clock: Clock.Clock
}

export interface SqliteClient {
  readonly sql: SqlClient.SqlClient
  /** Returns a number that changes when another connection has written to the file. */
  readonly dataVersion: () => number
}

/** How long a statement waits for a writer in another process, in milliseconds. It blocks this process in the meantime. */
const busyTimeout = 50
/** Maximum number of cached prepared statements. */
const maxPrepared = 100

/** Copies SQLite's error code to the field that Effect uses to classify errors, because `node:sqlite` uses a different one. */
const failed = (cause: unknown): SqlError => {
  const code = typeof cause === "object" && cause !== null && "errcode" in cause ? cause.errcode : undefined
  const message = cause instanceof Error ? cause.message : String(cause)
  return new SqlError({ reason: classifySqliteError({ code, cause }, { message, operation: "execute" }) })
}

const bound = (value: unknown): SQLInputValue => {
  if (typeof value === "boolean") return value ? 1 : 0
  const isPlain = typeof value === "string" || typeof value === "number" || typeof value === "bigint"
  if (isPlain || value === null || value instanceof Uint8Array) return value
  throw new TypeError(`Cannot bind a value of type ${typeof value}: SQLite only stores text, numbers, bytes and null`)
}

/** SQLite's name for an in-memory database. */
const inMemory = ":memory:"

class Database {
  readonly db: DatabaseSync
  private readonly prepared = new Map<string, StatementSync>()

  constructor({ clock, file, survives }: Options) {
    // Only the owner may read the file, which contains arguments and results of all callers. SQLite creates its other files with the same
    // mode. An existing file is not opened: closing it would release locks that other connections of this process hold on it.
    if (file !== inMemory && !existsSync(file)) closeSync(openSync(file, "a", 0o600))
    this.db = new DatabaseSync(file, { timeout: busyTimeout })
    try {
      this.db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = ${survives === "power" ? "FULL" : "NORMAL"}`)
    } catch (cause) {
      this.db.close()
      throw cause
    }
    this.db.function("mcp_now", () => clock.currentTimeMillisUnsafe())
  }

  private statement(sql: string): StatementSync {
    const known = this.prepared.get(sql)
    if (known !== undefined) return known
    if (this.prepared.size >= maxPrepared) this.prepared.clear()
    const made = this.db.prepare(sql)
    this.prepared.set(sql, made)
    return made
  }

  readonly rows = (sql: string, params: ReadonlyArray<unknown>) =>
    Effect.try({ try: () => this.statement(sql).all(...params.map(bound)), catch: failed })

  readonly values = (sql: string, params: ReadonlyArray<unknown>) =>
    Effect.map(this.rows(sql, params), (rows) => rows.map((row) => Object.values(row)))

  dataVersion(): number {
    return Number(this.statement("PRAGMA data_version").get()?.["data_version"])
  }
}

const connectionOf = ({ rows, values }: Database): Connection => ({
  execute: (sql, params, transform) =>
    transform === undefined ? rows(sql, params) : Effect.map(rows(sql, params), transform),
  executeRaw: rows,
  executeValues: values,
  executeValuesUnprepared: values,
  executeUnprepared: rows,
  executeStream: (sql, params) => Stream.fromIterableEffect(rows(sql, params))
})

const octal = (mode: number): string => mode.toString(8)

/** Denies other users access to an existing file. Returns its previous mode, or `undefined` if it was already private. */
const tighten = (file: string): number | undefined => {
  const mode = (statSync(file, { throwIfNoEntry: false })?.mode ?? 0) & 0o777
  if ((mode & 0o007) === 0) return undefined
  try {
    chmodSync(file, mode & 0o770)
  } catch (cause) {
    // A file that others can read but not write may deliberately belong to another user.
    if ((mode & 0o002) === 0) return undefined
    const message = `The SQLite file ${file} is writable by every user (mode ${octal(mode)}), and this process may not change that. `
    throw new Error(`${message}Run chmod o= on it as its owner`, { cause })
  }
  return mode
}

/** Denies other users access to the database files, and logs each file that was accessible. */
const closed = ({ file }: Options): Effect.Effect<void> =>
  Effect.forEach(
    file === inMemory ? [] : [file, `${file}-wal`, `${file}-shm`],
    (path) =>
      Effect.flatMap(
        Effect.sync(() => tighten(path)),
        (mode) =>
          mode === undefined
            ? Effect.void
            : Effect.logWarning(
                `The SQLite file ${path} was accessible to other users (mode ${octal(mode)}). Changed its mode to ${octal(mode & 0o770)}`
              )
      ),
    { discard: true }
  )

/**
 * Opens the file. Processes that start at the same time all switch it to WAL mode, and SQLite doesn't wait for that, so they retry for five
 * to ten seconds.
 */
const open = (options: Options): Effect.Effect<Database> =>
  Effect.try({ try: () => new Database(options), catch: failed }).pipe(
    Effect.retry({ while: ({ isRetryable }) => isRetryable, schedule: Schedule.spaced("50 millis"), times: 100 }),
    Effect.catch(({ cause }) => Effect.die(new Error(`Cannot open the SQLite file ${options.file}`, { cause })))
  )

/** Opens the file until the scope closes. If the file can't be opened, dies with an error that contains its path. */
export const make = (options: Options): Effect.Effect<SqliteClient, never, Scope.Scope> =>
  Effect.gen(function* () {
    const database = yield* Effect.acquireRelease(Effect.andThen(closed(options), open(options)), ({ db }) =>
      Effect.sync(() => db.close())
    )
    const acquirers = SqlClient.makeSqliteAcquirers({
      connection: Effect.succeed(connectionOf(database)),
      semaphore: yield* Semaphore.make(1),
      isTransaction: () => database.db.isTransaction
    })
    const reactivity = yield* Reactivity.make
    const sql = yield* SqlClient.make({
      ...acquirers,
      driver: "node:sqlite",
      compiler: Statement.makeCompilerSqlite(),
      beginTransaction: "BEGIN IMMEDIATE",
      spanAttributes: [["db.system.name", "sqlite"]]
    }).pipe(Effect.provideContext(Context.make(Reactivity.Reactivity, reactivity)))
    return { sql, dataVersion: () => database.dataVersion() }
  })
