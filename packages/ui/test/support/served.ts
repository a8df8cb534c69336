/** Pages of servers under test, which end with the scope of the test. */
import { NodeHttpServer, NodeServices } from "@effect/platform-node"
import { McpServer } from "@effect-mcp/server"
import * as Memory from "@effect-mcp/core/Memory"
import type { Transport } from "@effect-mcp/core/Transport"
import * as Stdio from "@effect-mcp/client/Stdio"
import { Ui } from "@effect-mcp/ui"
import { Context, Effect, Layer } from "effect"
import { createServer } from "node:http"
import { createRequire } from "node:module"

const listening = Layer.mergeAll(
  Layer.fresh(
    NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1", gracefulShutdownTimeout: "100 millis" })
  ),
  NodeServices.layer
)

const provided = <A, E, R>(self: Effect.Effect<A, E, R>) =>
  Effect.flatMap(Layer.build(listening), (context) => Effect.provideContext(self, context))

/** Serves the page of a server that is a process. */
export const ofCommand = (args: ReadonlyArray<string>, options: Partial<Ui.Options> = {}) =>
  provided(
    Ui.serve({
      name: ["node", ...args].join(" "),
      words: ["node", ...args],
      connect: ({ words }) =>
        Effect.tap(Stdio.open({ command: process.execPath, args }), ({ stderr }) => words(stderr)),
      ...options
    })
  )

/** The program of a server that is published on npm. */
export const npmServer = (name: string): string =>
  createRequire(import.meta.url)
    .resolve(`@modelcontextprotocol/server-${name}/package.json`)
    .replace(/package\.json$/, "dist/index.js")

/** Connects to a server in this process. `change` changes the client's end of the wire. */
export const connecting = Effect.fnUntraced(function* <R>(
  features: McpServer.Options<never, R>["features"],
  change: (transport: Transport) => Transport = (same) => same
) {
  const built = yield* Layer.build(McpServer.layer({ name: "ours", version: "1.0.0", features }))
  const { connect } = Context.get(built, McpServer.McpServer)
  return Effect.gen(function* () {
    const [near, far] = yield* Memory.pair()
    yield* connect(far)
    return change(near)
  })
})

/** Serves the page of a server in this process. */
export const ofServer = Effect.fnUntraced(function* <R>(
  features: McpServer.Options<never, R>["features"],
  options: Partial<Ui.Options> = {},
  change?: (transport: Transport) => Transport
) {
  const connected = yield* connecting(features, change)
  return yield* provided(Ui.serve({ name: "ours", connect: () => connected, ...options }))
})
