/**
 * Keeps a server's results that are too large to send in the database of its tasks, where they outlive the process and are shared by all
 * nodes.
 */
import * as SpillStore from "@effect-mcp/server/SpillStore"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import { isSqlError, type SqlError } from "effect/sql/SqlError"
import type { Dialect } from "../sql/Dialect.ts"
import { isFull, type Tables, TaskTables } from "../sql/Tables.ts"

/** Interval at which expired results are deleted if none is added. */
const sweepInterval = "1 minute"
/** Larger than any value that a database holds. Positions are cast to integers of 32 bits. */
const maxBytes = 2 ** 30

/** Callers without a key, and the owner of their results. No key is empty. */
const unknown = ""

const statementsOf = ({ lock, now, text }: Dialect) => ({
  /** Makes nodes put one after the other. The first migration added this row. */
  lock: text(`SELECT number FROM mcp_version WHERE number = 1${lock.update}`),
  /** id. Deletes what has expired, and the result itself if this is another attempt to put it. */
  clear: text(`DELETE FROM mcp_spill WHERE expires <= ${now} OR id = ?`),
  /** caller */
  held: text(
    `SELECT coalesce(sum(charge), 0) AS total, coalesce(sum(CASE WHEN caller = ? THEN charge ELSE 0 END), 0) AS own FROM mcp_spill`
  ),
  /** caller or null, caller. Deletes the oldest result of this caller, or of the caller that holds the most. */
  evict: text(
    `DELETE FROM mcp_spill WHERE seq = (
       SELECT seq FROM (SELECT seq, caller, sum(charge) OVER (PARTITION BY caller) AS held FROM mcp_spill) AS ranked
       WHERE caller = coalesce(CAST(? AS text), caller)
       ORDER BY held DESC, CASE WHEN caller = ? THEN 0 ELSE 1 END, seq LIMIT 1)`
  ),
  /** id, owner, caller, type, is text, charge, time to live, bytes */
  insert: text(
    `INSERT INTO mcp_spill (seq, id, owner, caller, mime_type, is_text, charge, expires, bytes)
     SELECT coalesce(max(seq), 0) + 1, CAST(? AS text), CAST(? AS text), CAST(? AS text), CAST(? AS text), CAST(? AS integer),
       CAST(? AS integer), ${now} + CAST(? AS double precision), ? FROM mcp_spill`
  ),
  /** from, length, id, owner */
  read: text(
    `SELECT mime_type, is_text, length(bytes) AS size, substr(bytes, CAST(? AS integer) + 1, CAST(? AS integer)) AS part
     FROM mcp_spill WHERE id = ? AND owner = ? AND expires > ${now}`
  ),
  sweep: text(`DELETE FROM mcp_spill WHERE expires <= ${now}`)
})

interface Held {
  readonly total: number
  readonly own: number
}

interface RangeRow {
  readonly mime_type: string
  readonly is_text: number
  readonly size: number
  readonly part: Uint8Array
}

const unavailable = (cause: SqlError): SpillStore.SpillUnavailable =>
  new SpillStore.SpillUnavailable({ message: "The database of the tasks is unavailable", cause })

/** The tables of the tasks as a store for results. */
class SpillTable implements SpillStore.SpillStore {
  private readonly tables: Tables
  private readonly statements: ReturnType<typeof statementsOf>

  constructor(tables: Tables) {
    this.tables = tables
    this.statements = statementsOf(tables.dialect)
  }

  put(
    result: SpillStore.SpilledResult,
    bounds: SpillStore.SpillBounds
  ): Effect.Effect<void, SpillStore.SpillUnavailable> {
    const { bytes, caller = unknown, charge, id, isText, mimeType, owner = unknown, timeToLive } = result
    const { statements, tables } = this
    const params = [id, owner, caller, mimeType, isText ? 1 : 0, charge, timeToLive, bytes]
    const stored = Effect.gen({ self: this }, function* () {
      yield* tables.dialect.bounded(tables.lease)
      yield* tables.query(statements.lock, [])
      yield* tables.query(statements.clear, [id])
      yield* this.makeRoom(caller, charge, bounds)
      yield* tables.query(statements.insert, params)
    })
    return this.available(tables.together(stored))
  }

  /** Deletes results until there is room for another one. */
  private makeRoom(caller: string, charge: number, bounds: SpillStore.SpillBounds): Effect.Effect<void, SqlError> {
    const { statements, tables } = this
    return Effect.gen(function* () {
      for (;;) {
        const held = yield* tables.first<Held>(statements.held, [caller])
        const [own, total] = [Number(held?.own), Number(held?.total)]
        const isOver = caller !== unknown && own > 0 && own + charge > bounds.perCaller
        if (!isOver && (total === 0 || total + charge <= bounds.total)) return
        yield* tables.query(statements.evict, [isOver ? caller : null, caller])
      }
    })
  }

  read(
    id: string,
    owner: string | undefined,
    from: number,
    to: number
  ): Effect.Effect<SpillStore.SpilledRange | undefined, SpillStore.SpillUnavailable> {
    const { statements, tables } = this
    const params = [Math.min(from, maxBytes), Math.min(to - from, maxBytes), id, owner ?? unknown]
    const row = tables.first<RangeRow>(statements.read, params)
    return Effect.map(
      this.available(row),
      (row) =>
        row && {
          mimeType: row.mime_type,
          isText: row.is_text === 1,
          size: row.size,
          bytes: row.part
        }
    )
  }

  /** Deletes expired results. */
  get sweep(): Effect.Effect<unknown, SqlError> {
    return this.tables.query(this.statements.sweep, [])
  }

  /** Retries temporary failures, except a full disk, because a caller waits. */
  private available<A>(effect: Effect.Effect<A, SqlError>): Effect.Effect<A, SpillStore.SpillUnavailable> {
    const { dialect, retried } = this.tables
    const patient = retried(Effect.mapError(effect, (error) => (isFull(error) ? unavailable(error) : error)))
    return dialect.left(Effect.mapError(patient, (error) => (isSqlError(error) ? unavailable(error) : error)))
  }
}

/**
 * Keeps a server's results that are too large to send in the database of its tasks instead of in memory. They survive the process, and all
 * nodes with this database can read them and share their limits. Everything else is as in `Limits.SpillOptions`.
 *
 * @example
 * ```ts
 * import { McpServer } from "@effect-mcp/server"
 * import { Tasks } from "@effect-mcp/tasks"
 * import * as Spill from "@effect-mcp/tasks/spill"
 * import * as Sqlite from "@effect-mcp/tasks/sqlite"
 * import { Layer } from "effect"
 *
 * const features = Layer.provide(Layer.merge(Tasks.layerStore(), Spill.layer), Sqlite.layer({ file: "tasks.db" }))
 *
 * export const server = McpServer.layer({ name: "archive", version: "1.0.0", features })
 * ```
 */
export const layer: Layer.Layer<never, never, SpillStore.SpillRegistry | TaskTables> = SpillStore.layer(
  Effect.gen(function* () {
    const table = new SpillTable(yield* TaskTables)
    const swept = Effect.andThen(Effect.sleep(sweepInterval), Effect.ignoreCause(table.sweep))
    yield* Effect.forkScoped(Effect.forever(swept))
    return table
  })
)
