/** A small server with every feature, which the fuzzer tests unchanged and with one fault at a time. */
import {
  Completions,
  Elicitation,
  Log,
  Progress,
  Prompt,
  Prompts,
  Resources,
  Roots,
  Tool,
  Tools
} from "@effect-mcp/core"
import { McpServer } from "@effect-mcp/server"
import { Effect, Layer, Schema } from "effect"

const Add = Tool.make("add", {
  description: "Adds two numbers.",
  input: { a: Schema.Finite, b: Schema.Finite },
  output: { sum: Schema.Finite }
})
const add = Tools.layer(Add, ({ a, b }) => Effect.succeed({ sum: a + b }))

const Count = Tool.make("count", {
  description: "Counts to three.",
  input: { note: Schema.String.annotate({ "x-mcp-header": "Note" }) }
})
const count = Tools.layer(
  Count,
  Effect.fnUntraced(function* ({ note }) {
    for (const step of [1, 2, 3]) {
      yield* Progress.report(step, { total: 3 })
      yield* Log.debug({ note, step })
    }
    return "done"
  })
)

const Guest = Schema.Struct({ name: Schema.String })
const Greet = Tool.make("greet", { description: "Greets by name." })
const greet = Tools.layer(
  Greet,
  Effect.fnUntraced(function* () {
    const { name } = yield* Elicitation.form("Who?", Guest)
    return `Hello ${name}`
  })
)

const Folders = Tool.make("folders", { description: "Lists the client's folders." })
const folders = Tools.layer(Folders, () => Effect.map(Roots.list, (roots) => roots.map(({ uri }) => uri).join(" ")))

const menu = Resources.layer({ uri: "menu://today", name: "menu" }, Effect.succeed("soup"))
const dish = Resources.layer({ uri: "menu://dish", name: "dish" }, Effect.succeed("stew"))
const review = Prompts.layer(
  Prompt.make("review", { arguments: { file: Schema.String } }),
  ({ file }) => Effect.succeed(`Review ${file}`),
  { complete: { file: Completions.choices(["a.ts", "b.ts"]) } }
)

export const features = Layer.mergeAll(add, count, greet, folders, menu, dish, review)

/** Lists have several pages. */
export const server = McpServer.layer({ name: "fuzzed", version: "1.0.0", features, pageSize: 2 })
