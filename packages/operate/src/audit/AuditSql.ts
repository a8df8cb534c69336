/**
 * An audit trail in a table of a database: a row for each line, by its place in the chain.
 *
 * A module of its own, which the index does not load. One process writes to a table: the key of a row refuses the line of a second one. Rows are added, never changed.
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
  /** The name of the table, which is made where it is not there. Default `mcp_audit`. */
  readonly table?: string | undefined
}

const defaultTable = "mcp_audit"

const failed = (table: string) => (cause: SqlError) =>
  new SinkError({ message: `The audit table ${JSON.stringify(table)} cannot be used: ${cause.message}`, cause })

interface Row {
  /** A driver gives a large number as text. */
  readonly seq: number | string
  readonly line: string
}

const rowsOf = (lines: ReadonlyArray<string>): ReadonlyArray<Row> =>
  lines.flatMap((line) => {
    const linked = chain.read(line)
    return linked === undefined ? [] : [{ seq: linked.seq, line }]
  })

/**
 * Adds the lines to a table of the database: SQLite, Postgres or MySQL by the `SqlClient` of a program. Its user needs `INSERT` and `SELECT`,
 * and `CREATE` where the table is not there: without `UPDATE` and `DELETE` a program that is taken over cannot change what it wrote.
 *
 * @example
 * ```ts
 * import { Audit } from "@effect-mcp/operate"
 * import * as AuditSql from "@effect-mcp/operate/AuditSql"
 * import { Layer } from "effect"
 *
 * // Give it the SqlClient of the program, such as `PgClient.layer`.
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
          const message = `The audit table ${JSON.stringify(table)} does not end in a record: name another table`
          return yield* Effect.fail(new SinkError({ message }))
        }
        return linked && { tail: { seq: linked.seq, hash: linked.hash }, torn: false }
      })
      /** A write whose answer was lost is tried again: rows that are there already must be the same lines. */
      const append = Effect.fnUntraced(function* (lines: ReadonlyArray<string>) {
        const rows = rowsOf(lines)
        const from = rows[0]?.seq ?? Infinity
        const there =
          rows.length === 0 ? [] : yield* sql<Row>`SELECT line FROM ${name} WHERE seq >= ${from} ORDER BY seq`
        if (there.some(({ line }, i) => line !== rows[i]?.line)) {
          const message = `Another process writes to the audit table ${JSON.stringify(table)}: give each its own`
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

/** The lines of a table in order, for `Audit.verify`. */
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
