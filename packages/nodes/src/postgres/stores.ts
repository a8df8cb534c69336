/**
 * Directory, events and replies as Postgres statements. Each statement is atomic, because the rows it changes stay locked until it ends.
 */
import type { PgClient } from "@effect/sql-pg/PgClient"
import { type Event, EventsGone, type EventStore } from "@effect-mcp/server/EventStore"
import { NodesUnavailable } from "@effect-mcp/server/Nodes"
import * as Effect from "effect/Effect"
import type { DirectoryStore, DirectoryEntry, Times } from "../directory/DirectoryStore.ts"
import type { ReplyStore, StateUse } from "../directory/SharedReplies.ts"
import { Sizes } from "../events/Sizes.ts"
import { within } from "./patience.ts"

/** Statement time limit, in milliseconds. */
const patience = 2000

/** Runs a statement, which may return rows. */
export type RunStatement = <A extends object>(
  statement: string,
  params: ReadonlyArray<unknown>
) => Effect.Effect<ReadonlyArray<A>, NodesUnavailable>

/** Prepares a parameter. Postgres text can't contain NUL, but IDs sent by clients can. */
export const storable = (value: unknown): unknown =>
  typeof value === "string" ? value.replaceAll("\u0000", "\ufffd") : value

export const unavailable = (cause: unknown) => new NodesUnavailable({ message: "The Postgres query failed", cause })

/** Runs statements in the program's own pool. */
export const query =
  (sql: PgClient): RunStatement =>
  <A extends object>(statement: string, params: ReadonlyArray<unknown>) =>
    within(patience)(Effect.mapError(sql.unsafe<A>(statement, params.map(storable)), unavailable))

const now = "clock_timestamp()"
const milliseconds = (ms: number): string => `interval '${Math.round(ms)} milliseconds'`

const moved = `UPDATE mcp_session SET node = $2 WHERE node = $1
  AND id IN (SELECT jsonb_array_elements_text(CAST(CAST($3 AS text) AS jsonb)))`

/** `ofLease` runs statements for this node's lease and its view of other nodes. */
export const directoryOf = (
  run: RunStatement,
  ofLease: RunStatement,
  { grace, kept, lease }: Times
): DirectoryStore => {
  const until = `${now} + ${milliseconds(lease)}`
  const isAlive = (node: string) =>
    `EXISTS (SELECT 1 FROM mcp_node WHERE mcp_node.id = ${node} AND until > ${now} - ${milliseconds(grace)})`
  return {
    join: (node) => Effect.asVoid(ofLease(`INSERT INTO mcp_node (id, until) VALUES ($1, ${until})`, [node])),
    renew: (node) =>
      Effect.map(
        ofLease(`UPDATE mcp_node SET until = ${until} WHERE id = $1 AND until > ${now} RETURNING id`, [node]),
        (rows) => rows.length > 0
      ),
    leave: (node) =>
      Effect.asVoid(ofLease(`UPDATE mcp_node SET until = ${now} - ${milliseconds(grace)} WHERE id = $1`, [node])),
    alive: (nodes) =>
      Effect.map(
        ofLease<{ readonly id: string }>(
          `SELECT id FROM mcp_node WHERE until > ${now} - ${milliseconds(grace)}
           AND id IN (SELECT jsonb_array_elements_text(CAST(CAST($1 AS text) AS jsonb)))`,
          [JSON.stringify(nodes)]
        ),
        (rows) => rows.map(({ id }) => id)
      ),
    inherit: (from, to) =>
      Effect.map(
        run<{ readonly id: string }>("UPDATE mcp_session SET node = $2 WHERE node = $1 RETURNING id", [from, to]),
        (rows) => rows.map(({ id }) => id)
      ),
    release: (from, to, ids) => Effect.asVoid(run(moved, [from, to, JSON.stringify(ids.map(storable))])),
    open: (node, id, record) =>
      Effect.asVoid(
        run("INSERT INTO mcp_session (id, node, epoch, record) VALUES ($1, $2, 1, $3)", [id, node, record])
      ),
    claim: (node, id, mayTake) => {
      const find = run<DirectoryEntry>("SELECT node, epoch, record FROM mcp_session WHERE id = $1", [id])
      const take = run<DirectoryEntry>(
        `UPDATE mcp_session SET node = $1, epoch = epoch + 1 WHERE id = $2 AND node <> $1 AND NOT ${isAlive("node")}
         RETURNING node, epoch, record`,
        [node, id]
      )
      return Effect.flatMap(find, ([entry]) => {
        if (entry === undefined || entry.node === node || mayTake?.(entry.record) === false)
          return Effect.succeed(entry)
        // Another node may take it between the two statements.
        return Effect.flatMap(take, ([taken]) =>
          taken === undefined ? Effect.map(find, ([found]) => found) : Effect.succeed(taken)
        )
      })
    },
    save: (node, id, record) =>
      Effect.asVoid(run("UPDATE mcp_session SET record = $3 WHERE id = $2 AND node = $1", [node, id, record])),
    close: (node, ids) =>
      Effect.asVoid(
        run(
          `DELETE FROM mcp_session WHERE node = $1
           AND id IN (SELECT jsonb_array_elements_text(CAST(CAST($2 AS text) AS jsonb)))`,
          [node, JSON.stringify(ids.map(storable))]
        )
      ),
    sweep: () =>
      Effect.asVoid(
        Effect.andThen(
          run(
            `DELETE FROM mcp_session WHERE node NOT IN (
               SELECT id FROM mcp_node WHERE until > ${now} - ${milliseconds(kept)})`,
            []
          ),
          Effect.andThen(
            run(`DELETE FROM mcp_node WHERE until < ${now} - ${milliseconds(2 * kept)}`, []),
            run(`DELETE FROM mcp_reply WHERE expires < ${now}`, [])
          )
        )
      )
  }
}

interface EventRow {
  readonly first: number | string
  readonly ends: string
  readonly text: string
}

/** Returns a row's events. */
const eventsOf = ({ ends, first, text }: EventRow): ReadonlyArray<Event> => {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a node wrote it by `append`
  const places = JSON.parse(ends) as ReadonlyArray<number>
  return places.map((end, at) => ({ seq: Number(first) + at, text: text.slice(places[at - 1] ?? 0, end) }))
}

export const eventsIn = (sql: PgClient): EventStore["Service"] => {
  const run = query(sql)
  const sizes = new Sizes()
  return {
    append: ({ session, stream }, events, text = events.map((event) => event.text).join("")) => {
      const [first] = events
      if (first === undefined) return Effect.void
      let end = 0
      const ends = JSON.stringify(events.map((event) => (end += event.text.length)))
      const last = first.seq + events.length - 1
      const write = run(
        `INSERT INTO mcp_event (session, stream, first, last, ends, text)
         SELECT $1, $2, $3::bigint, $4::bigint, $5, $6 WHERE EXISTS (SELECT 1 FROM mcp_session WHERE id = $1)`,
        [session, stream, first.seq, last, ends, text]
      )
      const { dropped, from } = sizes.add(session, stream, first.seq, text.length)
      const drop = run("DELETE FROM mcp_event WHERE session = $1 AND stream = $2 AND first < $3::bigint", [
        session,
        stream,
        from
      ])
      return Effect.orDie(Effect.asVoid(dropped === 0 ? write : Effect.andThen(write, drop)))
    },
    after: ({ session, stream }, seq) =>
      Effect.flatMap(
        Effect.orDie(
          run<EventRow & { readonly oldest: number | string }>(
            `SELECT first, ends, text,
               (SELECT min(first) FROM mcp_event WHERE session = $1 AND stream = $2) AS oldest
             FROM mcp_event WHERE session = $1 AND stream = $2 AND (last > $3::bigint OR last = (
               SELECT max(last) FROM mcp_event WHERE session = $1 AND stream = $2)) ORDER BY first`,
            [session, stream, seq]
          )
        ),
        (rows) =>
          rows[0] === undefined || Number(rows[0].oldest) > seq + 1
            ? Effect.fail(new EventsGone({ message: "These events are no longer stored" }))
            : Effect.succeed(rows.flatMap(eventsOf).filter((event) => event.seq > seq))
      ),
    forget: (session, stream) =>
      Effect.suspend(() => {
        sizes.forget(session, stream)
        return Effect.orDie(
          Effect.asVoid(
            stream === undefined
              ? run("DELETE FROM mcp_event WHERE session = $1", [session])
              : run("DELETE FROM mcp_event WHERE session = $1 AND stream = $2", [session, stream])
          )
        )
      })
  }
}

export const repliesIn = (sql: PgClient): ReplyStore => {
  const run = query(sql)
  return {
    begin: (jti, node, expires) => {
      const until = "to_timestamp($2::double precision / 1000)"
      const made = run(
        `INSERT INTO mcp_reply (jti, node, expires) SELECT $1, $3, ${until} WHERE ${until} > ${now}
         ON CONFLICT DO NOTHING RETURNING jti`,
        [jti, expires, node]
      )
      const found = run<{ readonly node: string | null; readonly reply: string | null; readonly valid: boolean }>(
        `SELECT ${until} > ${now} AS valid, node, reply FROM (SELECT 1) AS one LEFT JOIN mcp_reply ON jti = $1`,
        [jti, expires]
      )
      const use: Effect.Effect<StateUse, NodesUnavailable> = Effect.flatMap(made, (rows) => {
        if (rows.length > 0) return Effect.succeed<StateUse>({ _tag: "First" })
        return Effect.flatMap(found, ([row]) => {
          if (row?.valid !== true) return Effect.succeed<StateUse>({ _tag: "Expired" })
          // The first use was removed between the two statements, so this may be the first.
          if (row.node === null) return use
          return Effect.succeed<StateUse>({ _tag: "Later", node: row.node, reply: row.reply ?? undefined })
        })
      })
      return use
    },
    end: (jti, reply) => Effect.asVoid(run("UPDATE mcp_reply SET reply = $2 WHERE jti = $1", [jti, reply])),
    drop: (jti) => Effect.asVoid(run("DELETE FROM mcp_reply WHERE jti = $1", [jti]))
  }
}
