/** A tool whose call takes a while, in steps that each happen once. */
import { Once, Progress, Tool, Tools } from "@effect-mcp/core"
import { Effect, Schema } from "effect"

const Done = Schema.Struct({ step: Schema.String, process: Schema.Int })

export const Bake = Tool.make("bake", {
  description: "Bakes a loaf",
  input: { loaf: Schema.String },
  output: { done: Schema.Array(Done) },
  task: "required"
})

const steps = ["mix", "knead", "rise", "bake"]

export const bake = Tools.layer(
  Bake,
  Effect.fn("bake")(function* ({ loaf }) {
    const done: Array<typeof Done.Type> = []
    for (const [index, step] of steps.entries()) {
      // The work and the process that did it are recorded once, even if the
      // process is killed.
      const work = Effect.as(Effect.sleep("800 millis"), {
        step,
        process: process.pid
      })
      done.push(yield* Once.run(step, Done, work))
      yield* Progress.report(index + 1, {
        total: steps.length,
        message: `${loaf}: ${step} is done`
      })
    }
    return { done }
  })
)
