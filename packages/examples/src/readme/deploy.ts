import { Elicitation, Progress, Tool, Tools } from "@effect-mcp/core"
import { Effect, Schema } from "effect"

export const Deploy = Tool.make("deploy", {
  description: "Deploys a service, once the user has confirmed it.",
  input: { service: Schema.String },
  output: { version: Schema.Int }
})

export const deploy = Tools.layer(
  Deploy,
  Effect.fnUntraced(function* ({ service }) {
    yield* Elicitation.confirm(`Deploy ${service}?`)
    yield* Progress.report(1, { total: 2, message: "Building" })
    return { version: 7 }
  })
)
