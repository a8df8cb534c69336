/**
 * A server in a separate process, to be killed: `node server.ts KIND PLACE [LEASE [dies]]`, where KIND is `sqlite`, `postgres`,
 * `cluster-sqlite`, `cluster-postgres` or `runners-postgres`. Its handlers report each action as a line on stderr, which a pipe keeps when
 * its writer is killed.
 */
import { NodeClusterSocket, NodeCrypto, NodeRuntime } from "@effect/platform-node"
import { Elicitation, Once, Tool, Tools } from "@effect-mcp/core"
import { McpServer } from "@effect-mcp/server"
import { Tasks } from "@effect-mcp/tasks"
import * as Sqlite from "@effect-mcp/tasks/sqlite"
import * as Postgres from "@effect-mcp/tasks/postgres"
import * as Spill from "@effect-mcp/tasks/spill"
import * as Workflow from "@effect-mcp/tasks/workflow"
import { TaskStore } from "@effect-mcp/tasks/TaskStore"
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer, Logger, Option, Redacted, Schema } from "effect"
import {
  ClusterWorkflowEngine,
  RunnerAddress,
  RunnerHealth,
  Runners,
  Sharding,
  ShardingConfig,
  SqlMessageStorage,
  SqlRunnerStorage
} from "effect/cluster"
import { SqlClient } from "effect/sql/SqlClient"
import { writeSync } from "node:fs"
import { createServer } from "node:net"

const [kind, place = "", lease = "10000", dies] = process.argv.slice(2)
const say = (...words: ReadonlyArray<string | number>) => Effect.sync(() => void writeSync(2, `${words.join(" ")}\n`))

const Steps = Tool.make("steps", {
  description: "Runs steps, each of which says its key",
  input: {
    count: Schema.Int,
    millis: Schema.Int,
    ask: Schema.optionalKey(Schema.Boolean),
    write: Schema.optionalKey(Schema.Boolean)
  },
  output: { values: Schema.Array(Schema.String) },
  task: "required"
})

const steps = Tools.layer(
  Steps,
  Effect.fnUntraced(
    function* ({ ask = false, count, millis, write = false }) {
      yield* say("start", process.pid)
      const sql = yield* SqlClient
      if (write) yield* Effect.orDie(sql`CREATE TABLE IF NOT EXISTS ledger (step integer)`)
      const values: Array<string> = []
      for (let index = 0; index < count; index++) {
        if (ask && index === 1) {
          const { ok } = yield* Elicitation.form("Sure?", Schema.Struct({ ok: Schema.Boolean }), { key: "sure" })
          values.push(String(ok))
        }
        let key = ""
        const body = Effect.gen(function* () {
          key = yield* Once.key
          yield* say("begin", index, key)
          if (write) yield* Effect.orDie(sql`INSERT INTO ledger (step) VALUES (${index})`)
          if (write) yield* say("wrote", index)
          yield* Effect.sleep(millis)
          yield* say("end", index)
          return `${index}`
        })
        const once = write ? Once.transaction(sql) : Once.run
        values.push(yield* Effect.orDie(once(`step ${index}`, Schema.String, body)))
        // The key belongs to the step that this run recorded.
        yield* say("recorded", index, process.pid, key)
      }
      yield* say("done", process.pid)
      return { values }
    },
    Effect.onInterrupt(() => say("interrupted", process.pid))
  )
)

const letters = Tools.layer(
  Tool.make("letters", { description: "Returns letters that are too large to send" }),
  () => Effect.succeed("abcdefghij".repeat(200)),
  { limits: { bytes: 1000 } }
)

const options = { lease: Number(lease) }
const database =
  kind?.endsWith("postgres") === true
    ? Layer.provideMerge(
        Postgres.layer(options),
        Layer.orDie(
          PgClient.layer({
            url: Redacted.make(process.env["DATABASE_URL"] ?? "postgres://postgres@127.0.0.1:5432/postgres"),
            maxConnections: 5,
            applicationName: place,
            startupParameters: { search_path: place }
          })
        )
      )
    : Sqlite.layer({ ...options, file: place })

const shardingConfig = {
  entityMessagePollInterval: "300 millis",
  refreshAssignmentsInterval: "300 millis",
  // A third of it is the time limit for writing a record, even on a loaded machine.
  shardLockRefreshInterval: "5 seconds",
  shardLockExpiration: "15 seconds"
} as const

/** Postgres locks apply to the whole database by the prefix of the tables, so they would wait for other schemas. */
const prefix = `cluster_${place.slice(-8).replaceAll(/\W/g, "_")}`
const storage = Layer.provideMerge(
  Layer.orDie(SqlRunnerStorage.layerWith({ prefix })),
  Layer.orDie(SqlMessageStorage.layerWith({ prefix }))
)

/** A free port. */
const port = Effect.callback<number>((resume) => {
  const server = createServer().listen(0, "127.0.0.1", () => {
    const address = server.address()
    server.close(() => resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : 0)))
  })
})

const layerSharding = (settings: Partial<ShardingConfig.ShardingConfig["Service"]>) =>
  Sharding.layer.pipe(
    Layer.provide([Runners.layerNoop, RunnerHealth.layerNoop]),
    Layer.provideMerge(storage),
    Layer.provide(ShardingConfig.layer(settings))
  )

/**
 * A runner of Effect's cluster whose state is in the tasks' database: alone, or one of several that find each other there.
 */
const runner =
  kind === "runners-postgres"
    ? Layer.unwrap(
        Effect.map(port, (port) => {
          const runnerAddress = Option.some(RunnerAddress.make("127.0.0.1", port))
          const settings = { ...shardingConfig, runnerHealthCheckInterval: "500 millis", runnerAddress } as const
          return NodeClusterSocket.layer({ storage: "byo", shardingConfig: settings }).pipe(
            Layer.provideMerge(storage),
            Layer.provide(ShardingConfig.layer(settings))
          )
        })
      )
    : layerSharding(shardingConfig)
const engine = ClusterWorkflowEngine.layer.pipe(
  Layer.provide(Layer.orDie(runner)),
  Layer.provide([database, NodeCrypto.layerDigest])
)
/** The process dies after a task was created, before its engine is notified. */
const dying = Layer.effect(
  TaskStore,
  Effect.map(TaskStore, (store) => ({
    ...store,
    create: (task, node) =>
      Effect.tap(store.create(task, node), () => Effect.sync(() => process.kill(process.pid, "SIGKILL")))
  }))
)
const kept = dies === "dies" ? Layer.provideMerge(dying, database) : database
const onCluster = Layer.provide(Workflow.layer({ store: kept }), engine)
const client = Layer.effect(SqlClient, SqlClient).pipe(Layer.provide(database))
const store = /^(?:cluster|runners)/.test(kind ?? "") ? Layer.merge(onCluster, client) : database

const features = Layer.mergeAll(
  letters,
  Layer.provide(Spill.layer, database),
  Layer.provide(Layer.merge(steps, Tasks.layerStore({ handles: { answerWithin: "200 millis" } })), store)
)
const server = McpServer.layer({ name: "killed", version: "1.0.0", features })

McpServer.runStdio(server).pipe(Effect.provide(Logger.layer([])), NodeRuntime.runMain)
