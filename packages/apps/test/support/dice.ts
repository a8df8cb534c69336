/** The server of the tests: tools and notes for views. */
import { App } from "@effect-mcp/apps"
import { Resources, Tool, Tools } from "@effect-mcp/core"
import { Effect, Layer, Schema } from "effect"

export const Dice = Tool.make("dice", {
  description: "Rolls a die",
  input: { count: Schema.optionalKey(Schema.Int) },
  output: { eyes: Schema.Int }
})
export const Save = Tool.make("save", { description: "Saves a note", input: { note: Schema.String } })
const Slow = Tool.make("slow", { description: "Never ends" })

/** The server, with a view in this module of `views`. */
export const features = (view: "ours" | "theirs") =>
  Layer.mergeAll(
    Tools.layer(Dice, ({ count = 4 }) =>
      count < 0 ? Effect.fail(new Tools.ToolFailure({ message: "No such count" })) : Effect.succeed({ eyes: count })
    ),
    App.layer(Dice, { bundle: new URL(`./views/${view}.ts`, import.meta.url), prefersBorder: true }),
    Tools.layer(Save, () => Effect.succeed("Saved")),
    App.layerForViews(Save),
    Tools.layer(Slow, () => Effect.never),
    Resources.layer({ uri: "notes://1", name: "Note" }, Effect.succeed("A note"))
  )
