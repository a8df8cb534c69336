import { NodeRuntime, NodeStdio } from "@effect/platform-node"
import { Progress, Prompt, Prompts, Resources, Tool, Tools, Elicitation } from "@effect-mcp/core"
import { McpServer } from "@effect-mcp/server"
import { Effect, Layer, Schema, Stream } from "effect"

const Add = Tool.make("add", {
  description: "Adds.",
  input: { a: Schema.Finite, b: Schema.Finite },
  output: { sum: Schema.Finite }
})
const add = Tools.layer(
  Add,
  Effect.fnUntraced(function* ({ a, b }) {
    yield* Progress.report(1, { total: 2, message: "half" })
    yield* Effect.log("adding")
    console.log("stray")
    return { sum: a + b }
  })
)
const Slow = Tool.make("slow", { description: "Never ends." })
const slow = Tools.layer(Slow, () => Effect.onInterrupt(Effect.never, () => Effect.logError("interrupted!")))
const Ask = Tool.make("ask", { description: "Asks." })
const ask = Tools.layer(
  Ask,
  Effect.fnUntraced(function* () {
    const { name } = yield* Elicitation.form("Who?", Schema.Struct({ name: Schema.String }))
    return `Hello ${name}`
  })
)
const menu = Resources.layer({ uri: "menu://today", name: "menu" }, Effect.succeed("soup"), Stream.empty)
const Review = Prompt.make("review", { arguments: { file: Schema.String } })
const review = Prompts.layer(Review, ({ file }) => Effect.succeed(`Review ${file}`), {
  complete: { file: () => Effect.succeed(["a", "b"]) }
})

const server = McpServer.layer({ name: "smoke", version: "1", features: Layer.mergeAll(add, slow, ask, menu, review) })
McpServer.serveStdio().pipe(Effect.provide([server, NodeStdio.layer]), NodeRuntime.runMain)
