/** A server with private notes. */
import { NodeRuntime } from "@effect/platform-node"
import { Tool, Tools } from "@effect-mcp/core"
import { McpServer } from "@effect-mcp/server"
import { Effect } from "effect"

const Read = Tool.make("read", {
  description: "Reads the user's notes.",
  annotations: { readOnlyHint: true, openWorldHint: false }
})

const features = Tools.layer(Read, () =>
  Effect.succeed("The code of the garage door is 4711.")
)

McpServer.runStdio(
  McpServer.layer({ name: "notes", version: "1.0.0", features })
).pipe(NodeRuntime.runMain)
