import { App } from "@effect-mcp/apps"
import { Tool, Tools } from "@effect-mcp/core"
import { Effect, Layer, Random, Schema } from "effect"

export const Dice = Tool.make("dice", {
  description: "Rolls a die",
  output: { eyes: Schema.Int }
})

const page = new URL("./dice.html", import.meta.url)

export const features = Layer.merge(
  Tools.layer(Dice, () =>
    Effect.map(Random.nextIntBetween(1, 6), (eyes) => ({ eyes }))
  ),
  App.layer(Dice, { file: page, prefersBorder: true })
)
