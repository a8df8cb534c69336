/**
 * A client as a program: `node tables-client.ts` starts the server, reads the
 * menu and books a table.
 */
import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { McpClient } from "@effect-mcp/client"
import { Elicitation } from "@effect-mcp/core"
import { Console, Effect, Layer } from "effect"
import { fileURLToPath } from "node:url"
import { BookTable } from "./tables.ts"

const program = Effect.gen(function* () {
  const tables = yield* McpClient.McpClient
  yield* Console.log(`Today: ${yield* tables.readResourceText("menu://today")}`)
  const { reference } = yield* tables.callTool(BookTable, { guests: 2 })
  yield* Console.log(`Booked: ${reference}`)
})

/**
 * Answers the server's questions. This user agrees to everything and prints it.
 */
const user = Elicitation.layer({
  form: ({ message }) =>
    Effect.as(Console.log(`${message} Yes.`), {
      action: "accept" as const,
      content: {}
    })
})

const tables = McpClient.layerStdio({
  command: "node",
  args: [fileURLToPath(new URL("tables-server.ts", import.meta.url))]
})

program.pipe(
  Effect.provide(tables.pipe(Layer.provide([user, NodeServices.layer]))),
  NodeRuntime.runMain
)
