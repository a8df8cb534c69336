/** A node in a separate process: `process.ts KIND PLACE reference | NUMBER [DRAIN]`. Writes its port to stdout. */
import * as Postgres from "@effect-mcp/tasks/postgres"
import { NodeRuntime } from "@effect/platform-node"
import type { McpServer } from "@effect-mcp/server"
import { makeNodeListener } from "@effect-mcp/server/internal/sharing"
import { Effect, Layer } from "effect"
import { createServer } from "node:http"
import * as Everything from "../../../interop/src/reference/everything.ts"
import { listen } from "../../../server/test/http/support/http.ts"
import { serverOf } from "./features.ts"
import { databaseOf, nodeAt } from "./networks.ts"

const [kind = "", place = "", which = "", drain = "1000"] = process.argv.slice(2)

/** The store for the reference server's tasks, which all nodes need. There is no task store on Redis. */
const store = kind === "postgres" ? Layer.orDie(Layer.provide(Postgres.layer(), databaseOf(place))) : undefined

const server: Layer.Layer<McpServer.McpServer, unknown> =
  which === "reference" ? Everything.layer({ store }) : serverOf(Number(which))

const serve = Effect.gen(function* () {
  const http = createServer(yield* makeNodeListener({ path: "/mcp", drain: Number(drain) }))
  const port = yield* listen(http)
  yield* Effect.addFinalizer(() => Effect.sync(() => http.close()))
  process.stdout.write(`${port}\n`)
  return yield* Effect.never
})

Effect.scoped(serve).pipe(Effect.provide(Layer.provide(server, nodeAt(kind, place))), NodeRuntime.runMain)
