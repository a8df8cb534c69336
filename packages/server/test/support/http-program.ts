/**
 * A server over HTTP as a program: `http-program.ts DRAIN`. It writes its URL to stdout, then a line for each call of `wait` that starts.
 */
import { NodeHttpServer, NodeRuntime } from "@effect/platform-node"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import * as McpServer from "@effect-mcp/server/McpServer"
import { Effect, Latch, Layer } from "effect"
import { HttpRouter, HttpServer, HttpServerResponse } from "effect/http"
import { createServer } from "node:http"

const [drain = "10000"] = process.argv.slice(2)
const say = (line: string) => Effect.sync(() => void process.stdout.write(`${line}\n`))
const gate = Latch.makeUnsafe(false)

const wait = Tools.layer(Tool.make("wait", { description: "Waits for a request of /go." }), () =>
  Effect.as(Effect.andThen(say("begun"), gate.await), "done")
)
const go = HttpRouter.add("GET", "/go", Effect.as(gate.open, HttpServerResponse.text("ok")))
const listens = Layer.effectDiscard(
  Effect.flatMap(HttpServer.HttpServer, ({ address }) => say(HttpServer.formatAddress(address)))
)

McpServer.serveHttp(Layer.merge(McpServer.layerHttp({ path: "/mcp", drain: Number(drain) }), go), {
  disableListenLog: true
}).pipe(
  Layer.merge(listens),
  Layer.provide(NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1" })),
  Layer.provide(McpServer.layer({ name: "test", version: "1", features: wait })),
  Layer.launch,
  NodeRuntime.runMain({ teardown: McpServer.teardown })
)
