/**
 * The differences between the databases. The statements themselves are shared; see `Statements`.
 *
 * All times are in milliseconds since 1970 by the database's clock.
 */
import type * as Effect from "effect/Effect"
import type * as SqlClient from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"

/** A node's view before it claims. */
export interface Sight {
  /** True if a task may be due. */
  readonly due: boolean
  /** Nodes that are certainly gone, so that their leases need not expire. */
  readonly gone: ReadonlyArray<string>
}

export interface Dialect {
  readonly sql: SqlClient.SqlClient
  /** Name of this process among the nodes. */
  readonly node: string
  /** Converts the placeholders `?` to the database's own. */
  readonly text: (statement: string) => string
  /** Returns a text as the database stores it. */
  readonly kept: (text: string) => string
  /** Expression for the current time. */
  readonly now: string
  /** Returns the condition that a column is in a JSON array of texts, which is the parameter. */
  readonly among: (column: string) => string
  /** Locks for the end of a SELECT. Empty if a transaction has the database to itself. */
  readonly lock: { readonly share: string; readonly update: string; readonly skip: string }
  /** Runs migrations on one node at a time. */
  readonly exclusively: (migrations: Effect.Effect<void, SqlError>) => Effect.Effect<void, SqlError>
  /** Lets an interruption return without waiting for the database, because a run must stop even if its statement is never answered. */
  readonly left: <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E>
  /** Ends the running transaction if it is idle for this many milliseconds, so that a frozen node keeps no locks. */
  readonly bounded: (millis: number) => Effect.Effect<unknown, SqlError>
  readonly sight: Effect.Effect<Sight, SqlError>
  /** Announces to other processes that a task has changed, after the commit. May be lost, because each process also polls. */
  readonly tell: (task: string) => void
}
