import { NodeRuntime } from "@effect/platform-node"
import { Elicitation, Progress, Tool, Tools } from "@effect-mcp/core"
import { McpServer } from "@effect-mcp/server"
import { Tasks } from "@effect-mcp/tasks"
import { Effect, Layer, Schema } from "effect"

const Report = Tool.make("report", {
  description: "Writes a report",
  input: { topic: Schema.String },
  output: { pages: Schema.Int },
  task: "optional"
})

const report = Tools.layer(
  Report,
  Effect.fn("report")(function* ({ topic }) {
    yield* Progress.report(1, { total: 2, message: `Reading about ${topic}` })
    yield* Effect.sleep("1 minute")
    const { pages } = yield* Elicitation.form(
      "How many pages?",
      Schema.Struct({ pages: Schema.Int })
    )
    return { pages }
  })
)

const features = Layer.mergeAll(report, Tasks.layer())
const server = McpServer.layer({ name: "reports", version: "1.0.0", features })

McpServer.runStdio(server).pipe(NodeRuntime.runMain)
