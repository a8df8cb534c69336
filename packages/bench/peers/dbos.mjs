// Recorded steps of DBOS on Postgres, in a database of its own.
import { DBOS } from "@dbos-inc/dbos-sdk"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { PgClient } from "@effect/sql-pg"
import { measured, postgres } from "./steps.mjs"

const name = `bench_dbos_${process.pid}`
const database = new URL(postgres)
database.pathname = `/${name}`
const said = (statement) =>
  Effect.runPromise(
    Effect.flatMap(PgClient.PgClient, (sql) => sql.unsafe(statement)).pipe(
      Effect.provide(PgClient.layer({ url: Redacted.make(postgres) }))
    )
  )

await said(`CREATE DATABASE ${name}`)
DBOS.setConfig({ name: "bench", systemDatabaseUrl: database.href, logLevel: "error", runAdminServer: false })
const workflow = DBOS.registerWorkflow(
  async (steps) => {
    let sum = 0
    for (let step = 0; step < steps; step++) sum += await DBOS.runStep(() => Promise.resolve(step), { name: `${step}` })
    return sum
  },
  { name: "steps" }
)
await DBOS.launch()
await measured(workflow, 250)
await DBOS.shutdown()
await said(`DROP DATABASE ${name} WITH (FORCE)`)
process.exit(0)
