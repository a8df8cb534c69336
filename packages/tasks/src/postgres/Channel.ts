/** The channel of Postgres on which the nodes of a schema tell each other which tasks have changed, keys only. */
import type { PgClient } from "@effect/sql-pg/PgClient"
import type { PgConnection } from "@effect/sql-pg/PgConnection"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import type { SqlError } from "effect/sql/SqlError"
import { type Changes, someTask } from "../sql/Changes.ts"

/** Tasks that wait to be told while the database does not answer; the oldest are dropped. */
const maxWaiting = 4096
/** Ids in one payload: Postgres takes 8000 bytes, and an id has 43. */
const maxIds = 150
/** How long the end of a node waits until its last changes are told. */
const patience = "1 second"

const name = "'mcp_tasks_' || md5(current_schema())"
const notify = `SELECT pg_notify(${name}, value) FROM jsonb_array_elements_text(CAST(CAST($1 AS text) AS jsonb))`

type Told = Effect.Success<ReturnType<PgConnection["listen"]>>

export class Channel {
  private readonly node: string
  private readonly waiting: Queue.Queue<string>

  private constructor(node: string, waiting: Queue.Queue<string>) {
    this.node = node
    this.waiting = waiting
  }

  /** Tells in a fiber of the scope: what changes during one statement is told by the next, each task once. */
  static readonly make = Effect.fnUntraced(function* (
    sql: PgClient,
    node: string
  ): Effect.fn.Return<Channel, never, Scope.Scope> {
    const waiting = yield* Queue.sliding<string>(maxWaiting)
    const send = (tasks: ReadonlyArray<string>) => {
      const payloads = Arr.chunksOf([...new Set(tasks)], maxIds).map((ids) => [node, ...ids].join(" "))
      return Effect.ignoreCause(sql.unsafe(notify, [JSON.stringify(payloads)]))
    }
    yield* Effect.addFinalizer(() =>
      Effect.flatMap(Queue.clear(waiting), (rest) =>
        rest.length === 0 ? Effect.void : Effect.ignore(Effect.timeoutOption(send(rest), patience))
      )
    )
    yield* Effect.forkScoped(Effect.forever(Effect.flatMap(Queue.takeAll(waiting), send)))
    return new Channel(node, waiting)
  })

  /** Tells the other nodes that a task has changed. */
  readonly tell = (task: string): void => void Queue.offerUnsafe(this.waiting, task)

  /** What the nodes tell, from now on, for as long as the connection lives. */
  listen(connection: PgConnection): Effect.Effect<Told, SqlError, Scope.Scope> {
    return Effect.flatMap(connection.query(`SELECT ${name} AS name`), ({ rows }) =>
      connection.listen(String(rows[0]?.["name"]))
    )
  }

  /** Has the fibers of this node look again at what other nodes changed. */
  heard(told: Told, changes: Changes): Effect.Effect<never, SqlError> {
    const received = (payload: string): void => {
      const [node, ...tasks] = payload.split(" ")
      if (node === this.node) return
      for (const task of tasks) {
        if (task === someTask) changes.woken()
        else changes.changed(task)
      }
    }
    return Effect.forever(Effect.map(Queue.take(told), ({ payload }) => received(payload)))
  }
}
