/** One node in a process of its own: `process.ts KIND PLACE reference | NUMBER [DRAIN]`. It says its port on stdout. */
import * as Postgres from "@effect-mcp/tasks/postgres"
import { NodeRuntime } from "@effect/platform-node"
import type { McpServer } from "@effect-mcp/server"
import * as NodeListener from "@effect-mcp/server/internal/NodeListener"
import { Effect, Layer } from "effect"
import { createServer } from "node:http"
import * as Everything from "../../../everything/src/everything.ts"
import { listen } from "../../../server/test/http/support/http.ts"
import { serverOf } from "./features.ts"
import { databaseOf, nodeAt } from "./networks.ts"

const [kind = "", place = "", which = "", drain = "1000"] = process.argv.slice(2)

/** Tasks of the reference server have to be at all nodes, too; there is no store of tasks on Redis. */
const store = kind === "postgres" ? Layer.orDie(Layer.provide(Postgres.layer(), databaseOf(place))) : undefined

const server: Layer.Layer<McpServer.McpServer, unknown> =
  which === "reference" ? Everything.layer({ store }) : serverOf(Number(which))

const serve = Effect.gen(function* () {
  const http = createServer(yield* NodeListener.make({ path: "/mcp", drain: Number(drain) }))
  const port = yield* listen(http)
  yield* Effect.addFinalizer(() => Effect.sync(() => http.close()))
  process.stdout.write(`${port}\n`)
  return yield* Effect.never
})

Effect.scoped(serve).pipe(Effect.provide(Layer.provide(server, nodeAt(kind, place))), NodeRuntime.runMain)
