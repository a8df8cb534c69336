/** A connection outside the program's pool, so that a busy or hanging pool doesn't cost a node its lease. */
import type { PgClient } from "@effect/sql-pg/PgClient"
import * as PgConnection from "@effect/sql-pg/PgConnection"
import type { NodesUnavailable } from "@effect-mcp/server/Nodes"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import type { SqlError } from "effect/sql/SqlError"
import { within } from "./patience.ts"
import { type RunStatement, storable, unavailable } from "./stores.ts"

interface Line {
  readonly scope: Scope.Closeable
  readonly connection: Deferred.Deferred<PgConnection.PgConnection, SqlError>
}

export class LeaseConnection {
  private readonly config: PgClient["config"]
  private readonly patience: number
  private line: Line | undefined

  private constructor(config: PgClient["config"], patience: number) {
    this.config = config
    this.patience = patience
  }

  /** Opens a connection that closes with the scope. `patience` is the statement time limit in milliseconds. */
  static readonly make = (config: PgClient["config"], patience: number) =>
    Effect.acquireRelease(
      Effect.sync(() => new LeaseConnection(config, patience)),
      (connection) =>
        Effect.suspend(() => (connection.line === undefined ? Effect.void : connection.drop(connection.line)))
    )

  /** Runs a statement. If a statement fails or times out, the next one uses a new connection. */
  readonly run: RunStatement = <A extends object>(
    statement: string,
    params: ReadonlyArray<unknown>
  ): Effect.Effect<ReadonlyArray<A>, NodesUnavailable> =>
    Effect.flatMap(this.open, (line) =>
      Deferred.await(line.connection).pipe(
        Effect.flatMap((connection) => connection.query(statement, params.map(storable))),
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the statement says what its rows are, as for a pool
        Effect.map(({ rows }) => rows as ReadonlyArray<A>),
        Effect.mapError(unavailable),
        within(this.patience),
        Effect.onError(() => this.drop(line))
      )
    )

  private get open(): Effect.Effect<Line> {
    return Effect.suspend(() => {
      if (this.line !== undefined) return Effect.succeed(this.line)
      const line: Line = { scope: Scope.makeUnsafe(), connection: Deferred.makeUnsafe() }
      this.line = line
      const made = Scope.provide(PgConnection.make(this.config), line.scope)
      return Effect.as(Effect.forkIn(Deferred.into(made, line.connection), line.scope), line)
    })
  }

  private drop(line: Line): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (this.line === line) this.line = undefined
      // Does not wait for a socket whose other end is silent.
      return Effect.asVoid(Effect.forkDetach(Scope.close(line.scope, Exit.void)))
    })
  }
}
