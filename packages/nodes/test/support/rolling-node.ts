/** A node at a given port, as a program: `rolling-node.ts KIND PLACE PORT listener|router LAME_DUCK`. Reports on stdout when it listens. */
import { NodeHttpServer, NodeRuntime } from "@effect/platform-node"
import { Health } from "../../../operate/src/index.ts"
import { McpServer } from "@effect-mcp/server"
import { Effect, Layer } from "effect"
import { createServer } from "node:http"
import { serverOf } from "./features.ts"
import { nodeAt } from "./networks.ts"

const [kind = "", place = "", at = "", stack = "", lameDuck = "0"] = process.argv.slice(2)
const port = Number(at)
const options = { path: "/mcp", lameDuck: Number(lameDuck) } as const
const ran = (n: number) => Effect.sync(() => void process.stdout.write(`${n}\n`))
const server = Layer.provide(serverOf(port, ran), nodeAt(kind, place, { lease: "6 seconds" }))

const listener = () => {
  const { close, listener } = McpServer.toNodeListener(server, options)
  const http = createServer(listener).listen(port, "127.0.0.1", () => process.stdout.write("listens\n"))
  process.once("SIGTERM", () => void close(http))
}

const router = () => {
  const routes = Layer.merge(McpServer.layerHttp(options), Health.layerRoutes())
  const ready = Layer.effectDiscard(Effect.sync(() => process.stdout.write("listens\n")))
  McpServer.serveHttp(routes).pipe(
    Layer.merge(ready),
    // Listens once the server is built: before, a request would have no answer.
    Layer.provide(NodeHttpServer.layer(createServer, { port, host: "127.0.0.1" })),
    Layer.provide(Layer.provideMerge(server, Health.layer())),
    Layer.launch,
    NodeRuntime.runMain({ teardown: McpServer.teardown })
  )
}

if (stack === "router") router()
else listener()
