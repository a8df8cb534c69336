/** The Postgres channel on which a schema's nodes announce changed tasks, by ID only. */
import type { PgClient } from "@effect/sql-pg/PgClient"
import type { PgConnection } from "@effect/sql-pg/PgConnection"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import type { SqlError } from "effect/sql/SqlError"
import { type Changes, someTask } from "../sql/Changes.ts"

/** Maximum number of pending announcements while the database isn't responding. The oldest are dropped. */
const maxWaiting = 4096
/** Maximum number of IDs per payload: Postgres accepts 8000 bytes, and an ID has 43. */
const maxIds = 150
/** How long a stopping node waits for its last changes to be announced. */
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

  /**
   * Sends announcements in a fiber of the scope. Changes made while a statement is running are announced by the next one, once per task.
   */
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

  /** Announces to the other nodes that a task has changed. */
  readonly tell = (task: string): void => void Queue.offerUnsafe(this.waiting, task)

  /** Returns other nodes' announcements from now on, for as long as the connection lives. */
  listen(connection: PgConnection): Effect.Effect<Told, SqlError, Scope.Scope> {
    return Effect.flatMap(connection.query(`SELECT ${name} AS name`), ({ rows }) =>
      connection.listen(String(rows[0]?.["name"]))
    )
  }

  /** Makes this node's fibers look again at tasks that other nodes changed. */
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
