/**
 * An audit trail in a database table, with one row per line, keyed by its position in the chain.
 *
 * The package's index does not load this module. Only one process may write to a table; the primary key rejects lines from a second one.
 * Rows are only ever added.
 */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as SqlClient from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import * as Stream from "effect/Stream"
import * as chain from "./chain.ts"
import { AuditSink, SinkError } from "./Sink.ts"

export interface Options {
  /** Table name. The table is created if missing. Default `mcp_audit`. */
  readonly table?: string | undefined
}

const defaultTable = "mcp_audit"

const failed = (table: string) => (cause: SqlError) =>
  new SinkError({ message: `Cannot use the audit table ${JSON.stringify(table)}: ${cause.message}`, cause })

interface Row {
  /** Drivers return large numbers as text. */
  readonly seq: number | string
  readonly line: string
}

const rowsOf = (lines: ReadonlyArray<string>): ReadonlyArray<Row> =>
  lines.flatMap((line) => {
    const linked = chain.read(line)
    return linked === undefined ? [] : [{ seq: linked.seq, line }]
  })

/**
 * Appends the lines to a SQLite, Postgres or MySQL table, using the program's `SqlClient`. The database user needs `INSERT` and `SELECT`,
 * and `CREATE` if the table is missing. Without `UPDATE` and `DELETE`, a compromised program can't change earlier lines.
 *
 * @example
 * ```ts
 * import { Audit } from "@effect-mcp/operate"
 * import * as AuditSql from "@effect-mcp/operate/AuditSql"
 * import { Layer } from "effect"
 *
 * // Provide the program's SqlClient, such as `PgClient.layer`.
 * export const audit = Audit.layer().pipe(Layer.provide(AuditSql.layer({ table: "orders_audit" })))
 * ```
 */
export const layer = ({ table = defaultTable }: Options = {}): Layer.Layer<AuditSink, SinkError, SqlClient.SqlClient> =>
  Layer.effect(
    AuditSink,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const name = sql(table)
      yield* Effect.mapError(
        sql`CREATE TABLE IF NOT EXISTS ${name} (seq BIGINT NOT NULL PRIMARY KEY, line TEXT NOT NULL)`,
        failed(table)
      )
      const ending = Effect.gen(function* () {
        const [last] = yield* sql<Row>`SELECT line FROM ${name} ORDER BY seq DESC LIMIT 1`
        const linked = last === undefined ? undefined : chain.read(last.line)
        if (linked === undefined && last !== undefined) {
          const message = `The last row of the audit table ${JSON.stringify(table)} is not an audit record. Use a different table`
          return yield* Effect.fail(new SinkError({ message }))
        }
        return linked && { tail: { seq: linked.seq, hash: linked.hash }, torn: false }
      })
      /** If a write's confirmation is lost, the write is retried, so rows that already exist must contain the same lines. */
      const append = Effect.fnUntraced(function* (lines: ReadonlyArray<string>) {
        const rows = rowsOf(lines)
        const from = rows[0]?.seq ?? Infinity
        const there =
          rows.length === 0 ? [] : yield* sql<Row>`SELECT line FROM ${name} WHERE seq >= ${from} ORDER BY seq`
        if (there.some(({ line }, i) => line !== rows[i]?.line)) {
          const message = `Another process is writing to the audit table ${JSON.stringify(table)}. Use a separate table for each process`
          return yield* Effect.fail(new SinkError({ message }))
        }
        const added = rows.slice(there.length)
        return Arr.isReadonlyArrayNonEmpty(added)
          ? yield* Effect.asVoid(
              sql`INSERT INTO ${name} ${sql.insert(Arr.map(added, ({ line, seq }) => ({ seq, line })))}`
            )
          : undefined
      })
      return {
        ending: Effect.catchTag(ending, "SqlError", (error) => Effect.fail(failed(table)(error))),
        append: (lines) =>
          Effect.catchTag(sql.withTransaction(append(lines)), "SqlError", (error) => Effect.fail(failed(table)(error)))
      }
    })
  )

/** Reads a table's lines in order, for `Audit.verify`. */
export const lines = ({ table = defaultTable }: Options = {}): Stream.Stream<string, SinkError, SqlClient.SqlClient> =>
  Stream.unwrap(
    Effect.map(SqlClient.SqlClient, (sql) =>
      Stream.paginate(0, (after: number) =>
        Effect.map(
          sql<Row>`SELECT seq, line FROM ${sql(table)} WHERE seq > ${after} ORDER BY seq LIMIT 1000`,
          (rows) => {
            const last = rows.at(-1)
            return [rows.map(({ line }) => line), last === undefined ? Option.none() : Option.some(Number(last.seq))]
          }
        )
      )
    )
  ).pipe(Stream.mapError(failed(table)))
