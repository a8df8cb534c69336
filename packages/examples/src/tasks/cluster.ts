import { NodeCrypto } from "@effect/platform-node"
import { Tasks } from "@effect-mcp/tasks"
import * as Postgres from "@effect-mcp/tasks/postgres"
import * as Workflow from "@effect-mcp/tasks/workflow"
import { PgClient } from "@effect/sql-pg"
import { Layer, Redacted } from "effect"
import { ClusterWorkflowEngine, SingleRunner } from "effect/cluster"

const database = PgClient.layer({
  url: Redacted.make("postgres://localhost/tasks")
})

// The engine of your program: here a cluster of one runner, with its storage in
// Postgres.
const runner = SingleRunner.layer({ runnerStorage: "sql" })
const engine = ClusterWorkflowEngine.layer.pipe(
  Layer.provide(runner),
  Layer.provide([database, NodeCrypto.layerDigest])
)

const store = Layer.provide(Postgres.layer(), database)
export const tasks = Tasks.layerStore().pipe(
  Layer.provide(Workflow.layer({ store })),
  Layer.provide(engine)
)
