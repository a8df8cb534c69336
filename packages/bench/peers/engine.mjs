// Recorded steps of Effect's workflow engine on its cluster, of one runner, with its storage in Postgres: a schema of its own.
import { NodeCrypto } from "@effect/platform-node"
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer, ManagedRuntime, Redacted, References, Schema } from "effect"
import { ClusterWorkflowEngine, SingleRunner } from "effect/cluster"
import { Activity, Workflow } from "effect/workflow"
import { measured, postgres } from "./steps.mjs"

const schema = `bench_engine_${process.pid}`
const client = PgClient.layer({
  url: Redacted.make(postgres),
  maxConnections: 16,
  startupParameters: { search_path: schema }
})
const place = Effect.flatMap(PgClient.PgClient, (sql) =>
  Effect.acquireRelease(sql.unsafe(`CREATE SCHEMA ${schema}`), () =>
    Effect.orDie(sql.unsafe(`DROP SCHEMA ${schema} CASCADE`))
  )
)
const database = Layer.provideMerge(Layer.effectDiscard(place), client)

const Steps = Workflow.make("steps", {
  payload: { id: Schema.String, steps: Schema.Int },
  success: Schema.Int,
  idempotencyKey: ({ id }) => id
})
const steps = Steps.toLayer(
  Effect.fnUntraced(function* ({ steps }) {
    let sum = 0
    for (let step = 0; step < steps; step++) {
      sum += yield* Activity.make({ name: `${step}`, success: Schema.Int, execute: Effect.succeed(step) })
    }
    return sum
  })
)
const engine = ClusterWorkflowEngine.layer.pipe(
  Layer.provideMerge(SingleRunner.layer({ runnerStorage: "sql" })),
  Layer.provide([database, NodeCrypto.layerDigest])
)
const runtime = ManagedRuntime.make(
  Layer.provideMerge(steps, engine).pipe(Layer.provide(Layer.succeed(References.MinimumLogLevel, "Warn")))
)
// Ten times fewer steps than the others: each takes ten times as long.
await measured((steps) => runtime.runPromise(Steps.execute({ id: crypto.randomUUID(), steps })), 25)
await runtime.dispose()
process.exit(0)
