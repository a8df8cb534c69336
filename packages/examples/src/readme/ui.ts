import { Stdio } from "@effect-mcp/client"
import { Ui } from "@effect-mcp/ui"
import { NodeHttpServer, NodeServices } from "@effect/platform-node"
import { Console, Effect } from "effect"
import { createServer } from "node:http"

const command = "node"
const args = ["server.js"]

export const program = Effect.gen(function* () {
  const { url } = yield* Ui.serve({
    name: "node server.js",
    connect: ({ words }) =>
      Effect.tap(Stdio.open({ command, args }), ({ stderr }) => words(stderr))
  })
  yield* Console.log(url)
  return yield* Effect.never
}).pipe(
  Effect.scoped,
  Effect.provide([
    NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1" }),
    NodeServices.layer
  ])
)
