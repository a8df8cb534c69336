/** What a server has beside the contract where calls of its tools become tasks, with every limit but the number of open tasks as by default. */
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import * as Tasks from "@effect-mcp/tasks/Tasks"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as C from "../peers/contract.mjs"

const Report = Tool.make(C.report.name, {
  description: C.report.description,
  input: { text: Schema.String },
  task: "optional"
})
const Hold = Tool.make(C.hold.name, { description: C.hold.description, task: "optional" })

/** In place of as many fillers. */
export const tools = 2

export const features = Layer.mergeAll(
  Tools.layer(Report, ({ text }) => Effect.succeed(text)),
  Tools.layer(Hold, () => Effect.never),
  Tasks.layer({ perOwner: 20_000, total: 20_000 })
)

/** Never met by a load driver; by default a caller reads its tasks as often as the poll interval says, several times over. */
export const rateLimit = { "tasks/get": 1e9, "tasks/result": 1e9 }
