/**
 * Prints, as JSON, what tasks in a database cost: `durable.js sqlite|postgres steps`, the CPU of a recorded step with 16 tasks at once;
 * `durable.js sqlite parked COUNT`, the heap and the idle CPU of a server on whose file so many tasks wait for answers.
 */
import * as McpClient from "@effect-mcp/client/McpClient"
import * as Memory from "@effect-mcp/core/Memory"
import * as Once from "@effect-mcp/core/Once"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import * as McpServer from "@effect-mcp/server/McpServer"
import { Journal } from "@effect-mcp/tasks/Journal"
import * as Postgres from "@effect-mcp/tasks/postgres"
import * as Sqlite from "@effect-mcp/tasks/sqlite"
import * as Tasks from "@effect-mcp/tasks/Tasks"
import { TaskStore } from "@effect-mcp/tasks/TaskStore"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { MinimumLogLevel } from "effect/References"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { SqlClient } from "effect/sql/SqlClient"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Database from "./postgres.ts"

const [kind = "sqlite", what = "steps", count = "0"] = process.argv.slice(2)
const atOnce = 16
const steps = 250
const rounds = 3
const idle = 10_000

const Steps = Tool.make("steps", { description: "Records steps", input: { steps: Schema.Int }, task: "required" })
const recorded = Tools.layer(
  Steps,
  Effect.fnUntraced(function* ({ steps }) {
    for (let step = 0; step < steps; step++) yield* Once.run(`${step}`, Schema.Int, Effect.succeed(step))
    return "done"
  })
)

const folder = mkdtempSync(join(tmpdir(), "bench-durable-"))
const schema = `bench_${process.pid}`
const made = Layer.effectDiscard(Effect.addFinalizer(() => Effect.orDie(Database.drop(schema)))).pipe(
  Layer.provideMerge(Database.layerMade(schema, atOnce))
)
const store =
  kind === "postgres" ? Layer.provideMerge(Postgres.layer(), made) : Sqlite.layer({ file: join(folder, "tasks.db") })

/** A client of a server on the store. */
const connected = Effect.gen(function* () {
  const services = yield* Effect.context<TaskStore | Journal>()
  const tasks = Layer.provide(Tasks.layerStore({ pollInterval: "20 millis" }), Layer.succeedContext(services))
  const features = Layer.merge(recorded, tasks)
  const options = { name: "bench", version: "1.0.0", features, rateLimit: { "tasks/get": 1e9 } }
  const server = Context.get(yield* Layer.build(McpServer.layer(options)), McpServer.McpServer)
  const [near, far] = yield* Memory.pair()
  yield* server.connect(far)
  return yield* McpClient.connect(near)
})

/** The CPU of this process meanwhile, in microseconds. */
const cpuOf = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    const before = process.cpuUsage()
    return Effect.map(effect, () => {
      const { system, user } = process.cpuUsage(before)
      return system + user
    })
  })

const stepped = Effect.gen(function* () {
  const client = yield* connected
  const all = Effect.all(
    Array.from({ length: atOnce }, () => client.callTool(Steps, { steps })),
    { concurrency: atOnce }
  )
  yield* all
  const used = yield* Effect.replicateEffect(cpuOf(all), rounds)
  return { "cpu us": Math.min(...used) / (atOnce * steps) }
})

const task = { owner: "ada", tool: "steps", input: {}, client: {}, ttl: 86_400_000, pollInterval: 1000 }
const columns = `owner, tool, input, client, created, updated, ttl, poll_interval, expires, message, outcome, ended, open, version, epoch,
  base, node, due`

const parked = Effect.gen(function* () {
  const journal = yield* Journal
  const sql = yield* SqlClient
  if (Number(count) > 0) {
    const { lease } = yield* (yield* TaskStore).create(task, journal.node)
    yield* journal.record(lease, { _tag: "Question", key: "q", question: { method: "roots/list", params: {} } })
    yield* journal.park(lease, { at: undefined, answers: ["q"] })
    yield* sql.unsafe(
      `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
       INSERT INTO mcp_task (id, ${columns}) SELECT 't' || i, ${columns} FROM mcp_task, n WHERE i > 1`,
      [Number(count)]
    )
  }
  yield* connected
  yield* Effect.sleep("1 second")
  const used = yield* cpuOf(Effect.sleep(idle))
  global.gc?.()
  return { "heap MiB": process.memoryUsage().heapUsed / 1024 ** 2, "idle ms/s": used / idle }
})

const measured: Effect.Effect<object, unknown, TaskStore | Journal | SqlClient | Scope.Scope> =
  what === "steps" ? stepped : parked
const figures = Effect.scoped(Effect.provide(Effect.provideService(measured, MinimumLogLevel, "Warn"), store))
process.stdout.write(`${JSON.stringify(await Effect.runPromise(figures))}\n`)
rmSync(folder, { recursive: true, force: true })
process.exit(0)
