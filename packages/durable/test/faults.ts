/** Small faults of this package, each with the test that fails with it: `npm run requirements -- --prove`. */
import type { Fault } from "@effect-mcp/spec/Fault"

const statements = "packages/durable/src/store/Statements.ts"
const laws = "packages/durable/test/process/store/laws.test.ts"
const postgres = "packages/durable/test/process/postgres/postgres.test.ts"
const sqlite = "packages/durable/test/process/sqlite/sqlite.test.ts"
const nodes = "packages/durable/test/process/postgres/nodes.test.ts"
const network = "packages/durable/test/process/network.test.ts"

const engine = "packages/durable/test/workflow/engine.test.ts"
const process = "packages/durable/test/process/workflow/process.test.ts"

export const faults: ReadonlyArray<Fault> = [
  {
    name: "Each process gives the parked task that it finds late",
    file: "packages/durable/src/store/Tables.ts",
    from: "if (ended && !isHeld)",
    to: "if (!isHeld)",
    test: laws
  },
  {
    name: "A database gives the tasks that expire while they run, and not those that are parked",
    file: "packages/durable/src/store/Tables.ts",
    from: "ended && !isHeld",
    to: "ended && isHeld",
    test: laws
  },
  {
    name: "A task of a node that died expires untold",
    file: "packages/durable/src/store/Tables.ts",
    from: "row.node !== null && (row.free === 0 || row.epoch === by?.epoch)",
    to: "row.node !== null",
    test: laws
  },
  {
    name: "A task whose node learns late that it has expired is told twice",
    file: "packages/durable/src/store/Tables.ts",
    from: "(row.free === 0 || row.epoch === by?.epoch)",
    to: "row.free === 0",
    test: laws
  },
  {
    name: "a SQLite file that another process holds is not tried again",
    file: "packages/durable/src/sqlite/Client.ts",
    from: "isRetryable }) => isRetryable",
    to: "isRetryable }) => !isRetryable",
    test: "packages/durable/test/process/sqlite/sqlite.test.ts"
  },
  {
    name: "A database in memory leaves a file",
    file: "packages/durable/src/sqlite/Client.ts",
    from: "if (file !== inMemory && !existsSync(file)) closeSync",
    to: "closeSync",
    test: sqlite
  },
  {
    name: "A database takes a write under an older epoch",
    file: statements,
    from: "`${t}epoch = ${integer} AND",
    to: "`${t}epoch >= ${integer} AND",
    test: sqlite
  },
  {
    name: "A database shows a task to another caller",
    file: statements,
    from: "WHERE id = ? AND owner = ? AND NOT ${forgotten(now)}",
    to: "WHERE id = ? AND (owner = ? OR true) AND NOT ${forgotten(now)}",
    test: laws
  },
  {
    name: "A database parks a task whose answer came in meanwhile",
    file: "packages/durable/src/store/SqlJournal.ts",
    from: "const isDue = open.length < answers.length",
    to: "const isDue = open.length > answers.length",
    test: sqlite
  },
  {
    name: "A claim in a database keeps the epoch",
    file: statements,
    from: "SET epoch = epoch + 1, node = ?",
    to: "SET epoch = epoch + 0, node = ?",
    test: laws
  },
  {
    name: "A task of a process that lives is taken over before its lease is over",
    file: "packages/durable/src/sqlite/layer.ts",
    from: "return node.startsWith(place) || hasEnded(Number(pid))",
    to: "return node.startsWith(place) || !hasEnded(Number(pid))",
    test: sqlite
  },
  {
    name: "Postgres refuses an id with NUL",
    file: "packages/durable/src/postgres/layer.ts",
    from: 'value.replaceAll("\\u0000", "\\ufffd")',
    to: "value",
    test: "packages/durable/test/process/store/laws.test.ts"
  },
  {
    name: "A node of another container with the name of this machine counts as gone",
    file: "packages/durable/src/sqlite/layer.ts",
    from: "host !== here",
    to: 'host?.split("/")[0] !== here.split("/")[0]',
    test: sqlite
  },
  {
    name: "A change of another process is not seen",
    file: "packages/durable/src/store/Changes.ts",
    from: "versions.get(id) !== version",
    to: "versions.get(id) === version",
    test: sqlite
  },
  {
    name: "A change during the first look of a waiter is missed",
    file: "packages/durable/src/store/Changes.ts",
    from: "if (versions.get(id) !== version)",
    to: "if (version !== undefined && versions.get(id) !== version)",
    test: "packages/durable/test/store/Changes.test.ts"
  },
  {
    name: "A waiter misses a version that another waiter of its task has seen",
    file: "packages/durable/src/store/Changes.ts",
    from: "if (before !== undefined && before !== version) this.changed(id)",
    to: "",
    test: "packages/durable/test/store/Changes.test.ts"
  },
  {
    name: "The entries of a forgotten task stay",
    file: statements,
    from: 'DELETE FROM mcp_entry WHERE ${among("task")}',
    to: 'DELETE FROM mcp_entry WHERE false AND ${among("task")}',
    test: laws
  },
  {
    name: "A record on Postgres does not lock the task against a claim",
    file: "packages/durable/src/postgres/layer.ts",
    from: 'share: " FOR SHARE"',
    to: 'share: ""',
    test: postgres
  },
  {
    name: "Two nodes on Postgres claim a task whose record is under way",
    file: "packages/durable/src/postgres/layer.ts",
    from: 'skip: " FOR UPDATE SKIP LOCKED"',
    to: 'skip: ""',
    test: postgres
  },
  {
    name: "A step in a transaction is recorded outside of it",
    file: "packages/durable/src/store/SqlJournal.ts",
    from: "retried(together(whole))",
    to: "retried(whole)",
    test: "packages/durable/test/process/store/transaction.test.ts"
  },
  {
    name: "A step in a transaction runs again though it is recorded",
    file: "packages/durable/src/store/SqlJournal.ts",
    from: 'return known ?? (yield* this.record(lease, { _tag: "Step", key, value: yield* step }))',
    to: 'const value = yield* step\n      return known ?? (yield* this.record(lease, { _tag: "Step", key, value }))',
    test: "packages/durable/test/process/store/transaction.test.ts"
  },
  {
    name: "A journal takes the transaction of another client",
    file: "packages/durable/src/store/SqlJournal.ts",
    from: "transactionService === dialect.sql.transactionService",
    to: "transactionService !== undefined",
    test: "packages/durable/test/process/store/transaction.test.ts"
  },
  {
    name: "A transaction on Postgres keeps its locks while its node is frozen",
    file: "packages/durable/src/postgres/layer.ts",
    from: "idle_in_transaction_session_timeout = ${Math.ceil(millis)}",
    to: "idle_in_transaction_session_timeout = ${Math.ceil(millis) * 0}",
    test: postgres
  },
  {
    name: "A task that has ended keeps what it recorded",
    file: statements,
    from: 'FROM mcp_task WHERE outcome IS NOT NULL)")',
    to: 'FROM mcp_task WHERE outcome IS NULL)")',
    test: laws
  },
  {
    name: "Tasks that have ended are kept without a bound",
    file: statements,
    from: "WHERE place > ${integer} OR",
    to: "WHERE place > 1000 + ${integer} OR",
    test: laws
  },
  {
    name: "Results of any size are kept",
    file: statements,
    from: "OR bytes > ${number}",
    to: "OR bytes > 1e9 + ${number}",
    test: laws
  },
  {
    name: "A node that the database does not hear waits for its renewal to end",
    file: "packages/durable/src/store/SqlJournal.ts",
    from: "dialect.left(Effect.orDie(journal.renew(node, leases)))",
    to: "Effect.orDie(journal.renew(node, leases))",
    test: network
  },
  {
    name: "A run that the database does not hear waits for its step to be recorded",
    file: "packages/durable/src/store/Tables.ts",
    from: "this.dialect.left(",
    to: "Effect.suspend(() =>",
    test: network
  },
  {
    name: "A node on Postgres is ready before it holds its lock",
    file: "packages/durable/src/postgres/layer.ts",
    from: "Latch.makeUnsafe(false)",
    to: "Latch.makeUnsafe(true)",
    test: network
  },
  {
    name: "A full disk fails a step",
    file: "packages/durable/src/store/Tables.ts",
    from: "[10, 13].includes(code)",
    to: "[10].includes(code)",
    test: sqlite
  },
  {
    name: "A node on Postgres does not listen",
    file: "packages/durable/src/postgres/Channel.ts",
    from: "else changes.changed(task)",
    to: "else changes.changed(node ?? task)",
    test: postgres
  },
  {
    name: "A node on Postgres does not tell the others of an end",
    file: "packages/durable/src/store/SqlJournal.ts",
    from: "Effect.sync(() => this.tables.changed(lease.task))\n",
    to: "Effect.sync(() => this.tables.changes.changed(lease.task))\n",
    test: nodes
  },
  {
    name: "A node on Postgres that stops does not tell the others",
    file: "packages/durable/src/store/SqlJournal.ts",
    from: "if (wake === undefined) this.tables.handedOver()",
    to: "if (wake === undefined) changes.woken()",
    test: nodes
  },
  {
    name: "A step on an engine may fail without end",
    file: "packages/durable/src/workflow/EngineJournal.ts",
    from: "if (run.entries >= limits.entries)",
    to: "if (run.entries > 1e6)",
    test: engine
  },
  {
    name: "Each attempt of a step on an engine reads all before it again",
    file: "packages/durable/src/workflow/EngineJournal.ts",
    from: "attempt((run.failures.get(key) ?? 0) + 1)",
    to: "attempt(1)",
    test: engine
  },
  {
    name: "A step that failed on an engine is never tried again",
    file: "packages/durable/src/workflow/EngineJournal.ts",
    from: "return attempt(number + 1)",
    to: "return attempt(number)",
    test: engine
  },
  {
    name: "A step on an engine runs in each run of its task",
    file: "packages/durable/src/workflow/EngineJournal.ts",
    from: "Activity.make({ name: nameOf(key),",
    to: "Activity.make({ name: `${nameOf(key)} ${lease.epoch}`,",
    test: engine
  },
  {
    name: "Runs on an engine that recorded steps count as runs that did not",
    file: "packages/durable/src/workflow/EngineJournal.ts",
    from: "isNew && run.isRetry",
    to: "!isNew && run.isRetry",
    test: engine
  },
  {
    name: "An answer that the engine alone has is waited for",
    file: "packages/durable/src/workflow/EngineJournal.ts",
    from: "Option.isSome(known)",
    to: "Option.isSome(known) && run.closed.has(key)",
    test: engine
  },
  {
    name: "An execution fails its task where the tool is not there",
    file: "packages/durable/src/workflow/Execution.ts",
    from: "server.tools().includes(claimed.input.tool)",
    to: "server.tools().length > 0",
    test: engine
  },
  {
    name: "A task whose node died before the engine was told is never started",
    file: "packages/durable/src/workflow/layer.ts",
    from: "return yield* startingMissed(options.journal, server, tasks.start)",
    to: "return yield* Effect.never",
    test: engine
  },
  {
    name: "The engine starts tasks that it runs already",
    file: "packages/durable/src/store/Statements.ts",
    from: "WHERE epoch = 1 AND node IS NOT NULL",
    to: "WHERE node IS NOT NULL",
    test: laws
  },
  {
    name: "An answer does not reach the engine",
    file: "packages/durable/src/workflow/EngineStore.ts",
    from: "deferredName: deferred.name,",
    to: "deferredName: task.id,",
    test: engine
  },
  {
    name: "A task ends by an error where the engine stops its run at a step",
    file: "packages/durable/src/workflow/EngineJournal.ts",
    from: "runs.get(lease)?.isStopped === true",
    to: "runs.get(lease)?.isStopped === undefined",
    test: engine
  },
  {
    name: "A task whose execution was interrupted works for ever",
    file: "packages/durable/src/workflow/Execution.ts",
    from: "instance.interrupted ? Effect.ignore",
    to: "instance.abandoned ? Effect.ignore",
    test: engine
  },
  {
    name: "The handler starts again while its server stops",
    file: "packages/durable/src/workflow/Execution.ts",
    from: "if (server.isStopping()) {",
    to: "if (!server.isStopping) {",
    test: process
  }
]
