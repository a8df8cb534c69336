/**
 * The store's statements, prepared once per database.
 *
 * Numbers are cast, because Postgres cannot infer the type of a parameter that is only selected. `held` fences writes: a write under a
 * lease names its epoch, and changes nothing if the task has another one. On Postgres the row is locked meanwhile, so a claim waits for a
 * running write and sees its result.
 */
import type { Dialect } from "./Dialect.ts"

const number = "CAST(? AS double precision)"
const integer = "CAST(? AS integer)"
const string = "CAST(? AS text)"

/** True if a lease of this epoch is valid. */
const held = (now: string, t = ""): string =>
  `${t}epoch = ${integer} AND ${t}node IS NOT NULL AND ${t}outcome IS NULL AND ${t}expires > ${now}`

/** True if a task that has ended is forgotten. The parameter is the minimum time to keep it. */
const forgotten = (now: string): string => `(outcome IS NOT NULL AND expires <= ${now} AND ended + ${number} <= ${now})`

/** True if there is no valid lease on a task. */
const free = (now: string): string => `CASE WHEN node IS NULL OR due <= ${now} THEN 1 ELSE 0 END AS free`

const reading = ({ among, now, text }: Dialect) => {
  const late = `CASE WHEN outcome IS NULL AND expires <= ${now} THEN 1 ELSE 0 END AS late`
  const row = `SELECT *, ${late}, ${free(now)} FROM mcp_task`
  return {
    /** id */
    row: text(`${row} WHERE id = ?`),
    /** id, owner, kept */
    own: text(`${row} WHERE id = ? AND owner = ? AND NOT ${forgotten(now)}`),
    /** owner, kept, created, created, id, size */
    page: text(
      `${row} WHERE owner = ? AND NOT ${forgotten(now)} AND (created > ${number} OR (created = ${number} AND id > ?))
       ORDER BY created, id LIMIT ${integer}`
    ),
    /** max */
    parked: text(
      `SELECT *, 0 AS late, 1 AS free FROM mcp_task WHERE outcome IS NULL AND node IS NULL AND expires > ${now} ORDER BY created, id LIMIT ${integer}`
    ),
    /** nodes that are gone, tools, max */
    unstarted: text(
      `SELECT id FROM mcp_task WHERE epoch = 1 AND node IS NOT NULL AND (due <= ${now} OR ${among("node")}) AND ${among("tool")}
       AND outcome IS NULL AND expires > ${now} ORDER BY due LIMIT ${integer}`
    ),
    parkedCounts: text(
      `SELECT CASE WHEN due <= ${now} THEN 'pending' WHEN open > 0 THEN 'asking' ELSE 'sleeping' END AS state,
        CAST(count(*) AS integer) AS count
       FROM mcp_task WHERE outcome IS NULL AND node IS NULL AND expires > ${now} GROUP BY 1`
    ),
    /** epoch, key, id */
    watch: text(
      `SELECT t.version, CASE WHEN ${held(now, "t.")} THEN 1 ELSE 0 END AS held, e.answer
       FROM mcp_task t LEFT JOIN mcp_entry e ON e.task = t.id AND e.key = ? WHERE t.id = ?`
    )
  }
}

const entries = ({ among, lock, now, text }: Dialect) => ({
  /** tasks */
  questions: text(
    `SELECT * FROM mcp_entry WHERE ${among("task")} AND kind = 'Question' AND answer IS NULL ORDER BY at, key`
  ),
  /** tasks */
  all: text(`SELECT * FROM mcp_entry WHERE ${among("task")} ORDER BY at, key`),
  /** task, key */
  one: text("SELECT * FROM mcp_entry WHERE task = ? AND key = ?"),
  /** task */
  size: text("SELECT count(*) AS count, coalesce(sum(bytes), 0) AS bytes FROM mcp_entry WHERE task = ?"),
  /** task, keys */
  openAmong: text(
    `SELECT * FROM mcp_entry WHERE task = ? AND kind = 'Question' AND answer IS NULL AND ${among("key")}`
  ),
  /** task, key, kind, value, answer, bytes, id, epoch */
  record: text(
    `INSERT INTO mcp_entry (task, key, kind, value, answer, epoch, bytes, at)
     SELECT ${string}, ${string}, ${string}, ${string}, ${string}, epoch, ${integer}, ${now}
     FROM mcp_task WHERE id = ? AND ${held(now)}${lock.share} ON CONFLICT DO NOTHING RETURNING 1 AS recorded`
  ),
  /** answer, epoch, bytes, task, key */
  answer: text(
    `UPDATE mcp_entry SET answer = ${string}, epoch = ${integer}, bytes = bytes + ${integer} WHERE task = ? AND key = ?`
  )
})

const writing = ({ among, lock, now, text }: Dialect) => {
  /** node, lease */
  const leased = `SET epoch = epoch + 1, node = ?, due = ${now} + ${number}, version = version + 1`
  const underLease = `WHERE id = ? AND ${held(now)}`
  const end = `UPDATE mcp_task SET outcome = ${string}, message = ${string}, ended = ${now}, updated = ${now},
    open = 0, node = NULL, due = NULL, version = version + 1, input = '{}', client = '{}'`
  return {
    /** id, owner, tool, input, client, ttl, poll interval, ttl, message, node, lease, pin, caller, caller, per caller, total */
    create: text(
      `INSERT INTO mcp_task (id, owner, tool, input, client, created, updated, ttl, poll_interval, expires, message, open, version,
        epoch, base, node, due, pin, caller)
       SELECT ${string}, ${string}, ${string}, ${string}, ${string}, ${now}, ${now}, ${number}, ${number}, ${now} + ${number}, ${string},
        0, 0, 1, 0, ${string}, ${now} + ${number}, ${string}, ${string}
       WHERE (SELECT count(*) FROM mcp_task WHERE outcome IS NULL AND coalesce(caller, owner) = ?) < ${integer}
         AND (SELECT count(*) FROM mcp_task WHERE outcome IS NULL) < ${integer} ON CONFLICT DO NOTHING`
    ),
    /** caller */
    openOf: text("SELECT count(*) AS count FROM mcp_task WHERE outcome IS NULL AND coalesce(caller, owner) = ?"),
    /** id, owner */
    lock: text(`SELECT id FROM mcp_task WHERE id = ? AND owner = ?${lock.update}`),
    /** id, epoch */
    lockHeld: text(`SELECT id FROM mcp_task ${underLease}${lock.update}`),
    /** outcome, message, id */
    end: text(`${end} WHERE id = ? AND outcome IS NULL RETURNING id`),
    /** outcome, message, id, epoch */
    settle: text(`${end} ${underLease} RETURNING id`),
    /** id */
    asked: text(`UPDATE mcp_task SET open = open + 1, updated = ${now}, version = version + 1 WHERE id = ?`),
    /** answers, id */
    answered: text(
      `UPDATE mcp_task SET open = open - ${integer}, updated = ${now}, version = version + 1,
        due = CASE WHEN node IS NULL THEN ${now} ELSE due END WHERE id = ?`
    ),
    /** message, id, epoch */
    message: text(
      `UPDATE mcp_task SET message = ?, updated = ${now}, version = version + 1 ${underLease} RETURNING id`
    ),
    /** at, id */
    park: text(`UPDATE mcp_task SET node = NULL, base = epoch, due = ${number}, version = version + 1 WHERE id = ?`),
    /** id */
    parkDue: text(`UPDATE mcp_task SET node = NULL, base = epoch, due = ${now}, version = version + 1 WHERE id = ?`),
    /** id */
    handOver: text(
      `UPDATE mcp_task SET node = NULL, base = epoch, due = ${now}, pin = NULL, version = version + 1 WHERE id = ?`
    ),
    /** node, lease, nodes that are gone, tools, deployment, max */
    claim: text(
      `UPDATE mcp_task ${leased}
       WHERE id IN (SELECT id FROM mcp_task WHERE (due <= ${now} OR ${among("node")}) AND ${among("tool")}
        AND (pin IS NULL OR pin = ${string}) AND outcome IS NULL AND expires > ${now} ORDER BY due LIMIT ${integer}${lock.skip}) RETURNING *, 0 AS late, 0 AS free`
    ),
    /** node, lease, id */
    take: text(
      `UPDATE mcp_task ${leased}
       WHERE id = ? AND outcome IS NULL AND expires > ${now} RETURNING *, 0 AS late, 0 AS free`
    ),
    /** lease, node, tasks */
    renew: text(
      `UPDATE mcp_task SET due = ${now} + ${number} WHERE node = ? AND outcome IS NULL AND expires > ${now} AND ${among("id")}
       RETURNING id, epoch`
    )
  }
}

const sweeping = ({ among, lock, now, text }: Dialect) => ({
  /** max */
  late: text(
    `SELECT *, 1 AS late, ${free(now)} FROM mcp_task WHERE outcome IS NULL AND expires <= ${now} ORDER BY expires LIMIT ${integer}`
  ),
  /** kept, max */
  forget: text(
    `DELETE FROM mcp_task WHERE id IN (SELECT id FROM mcp_task WHERE ${forgotten(now)} ORDER BY expires LIMIT ${integer}${lock.skip})
     RETURNING id`
  ),
  /** kept, bytes, max. Returns excess tasks: the oldest of the callers with the most */
  forgetExcess: text(
    `DELETE FROM mcp_task WHERE id IN (SELECT id FROM (
       SELECT id, row_number() OVER (ORDER BY nth, ended DESC, id) AS place,
         sum(octet_length(outcome)) OVER (ORDER BY nth, ended DESC, id) AS bytes FROM (
         SELECT id, ended, outcome, row_number() OVER (PARTITION BY owner ORDER BY ended DESC, id) AS nth
         FROM mcp_task WHERE outcome IS NOT NULL) AS own
       ) AS ranked WHERE place > ${integer} OR bytes > ${number} ORDER BY place DESC LIMIT ${integer}) RETURNING id`
  ),
  /** Deletes the entries of tasks that have ended, because no run needs them. */
  forgetEnded: text("DELETE FROM mcp_entry WHERE task IN (SELECT id FROM mcp_task WHERE outcome IS NOT NULL)"),
  /** tasks */
  forgetEntries: text(`DELETE FROM mcp_entry WHERE ${among("task")}`),
  /** tasks */
  versions: text(`SELECT id, version FROM mcp_task WHERE ${among("id")}`)
})

export type Statements = ReturnType<typeof reading> &
  ReturnType<typeof entries> &
  ReturnType<typeof writing> &
  ReturnType<typeof sweeping>

export const make = (dialect: Dialect): Statements => ({
  ...reading(dialect),
  ...entries(dialect),
  ...writing(dialect),
  ...sweeping(dialect)
})
