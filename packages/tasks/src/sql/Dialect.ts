/**
 * What differs between the databases. The statements themselves are the same text for all: see `Statements`.
 *
 * Every time is in milliseconds since the epoch by the clock of the database.
 */
import type * as Effect from "effect/Effect"
import type * as SqlClient from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"

/** What a node sees before it claims. */
export interface Sight {
  /** Whether a task may be due. */
  readonly due: boolean
  /** Nodes that are certainly gone, whose leases need not run out. */
  readonly gone: ReadonlyArray<string>
}

export interface Dialect {
  readonly sql: SqlClient.SqlClient
  /** The name of this process among the nodes. */
  readonly node: string
  /** A statement with the placeholders of the database instead of `?`. */
  readonly text: (statement: string) => string
  /** A text as the database keeps it. */
  readonly kept: (text: string) => string
  /** The current time, as an expression. */
  readonly now: string
  /** The condition that a column is among the texts of a JSON array, which is the parameter. */
  readonly among: (column: string) => string
  /** Locks for the end of a SELECT; empty where a transaction has the database to itself. */
  readonly lock: { readonly share: string; readonly update: string; readonly skip: string }
  /** Runs the migrations of one node at a time. */
  readonly exclusively: (migrations: Effect.Effect<void, SqlError>) => Effect.Effect<void, SqlError>
  /** The same effect, whose interruption does not wait for the database: a run must stop though its statement is never answered. */
  readonly left: <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E>
  /** Ends the running transaction when it is idle for so long, in milliseconds: a node that was frozen in it keeps no locks. */
  readonly bounded: (millis: number) => Effect.Effect<unknown, SqlError>
  readonly sight: Effect.Effect<Sight, SqlError>
  /** Tells other processes that a task has changed, after the commit. May be lost: each process looks itself, later. */
  readonly tell: (task: string) => void
}
