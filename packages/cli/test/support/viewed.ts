/** A server over stdio whose tool has a view. */
import { App } from "@effect-mcp/apps"
import { Tool, Tools } from "@effect-mcp/core"
import { McpServer } from "@effect-mcp/server"
import { NodeRuntime } from "@effect/platform-node"
import { Effect, Layer, Schema } from "effect"

const Dice = Tool.make("dice", {
  description: "Rolls a die",
  input: { count: Schema.Int },
  output: { eyes: Schema.Int }
})
const features = Layer.mergeAll(
  Tools.layer(Dice, ({ count }) => Effect.succeed({ eyes: count })),
  App.layer(Dice, { html: "<!doctype html><title>Dice</title>" })
)

NodeRuntime.runMain(McpServer.runStdio(McpServer.layer({ name: "dice", version: "1.0.0", features })))
