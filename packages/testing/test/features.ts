/** Features of a small server, as a user would write them. The suites here run against them. */
import { Elicitation, Progress, Prompt, Prompts, Resources, Roots, Sampling, Tool, Tools } from "@effect-mcp/core"
import { Context, Effect, Layer, Ref, Schema } from "effect"

/** The user's own service, provided by each test. */
export class Bookings extends Context.Service<
  Bookings,
  {
    readonly reserve: (restaurant: string) => Effect.Effect<string>
    readonly made: Effect.Effect<ReadonlyArray<string>>
  }
>()("test/Bookings") {
  static readonly layerTest = Layer.effect(
    Bookings,
    Effect.map(Ref.make<ReadonlyArray<string>>([]), (made) => ({
      reserve: (restaurant) =>
        Ref.modify(made, (before) => [`ref-${before.length + 1}`, [...before, restaurant]] as const),
      made: Ref.get(made)
    }))
  )
}

export const BookTable = Tool.make("book_table", {
  description: "Books a table once the guest has confirmed it.",
  input: { restaurant: Schema.String, guests: Schema.Int },
  output: { reference: Schema.String }
})

const bookTable = Tools.layer(
  BookTable,
  Effect.fn("book_table")(function* ({ guests, restaurant }) {
    const bookings = yield* Bookings
    yield* Progress.report(1, { total: 2, message: `Asking ${restaurant}` })
    yield* Elicitation.confirm(`Book a table for ${guests} at ${restaurant}?`)
    return { reference: yield* bookings.reserve(restaurant) }
  })
)

export const Greet = Tool.make("greet", { description: "Greets by name." })
const greet = Tools.layer(
  Greet,
  Effect.fnUntraced(function* () {
    const { name } = yield* Elicitation.form("Who?", Schema.Struct({ name: Schema.String }))
    return `Hello ${name}`
  })
)

export const Think = Tool.make("think", { description: "Asks the model.", input: { about: Schema.String } })
const think = Tools.layer(
  Think,
  Effect.fnUntraced(function* ({ about }) {
    const { content } = yield* Sampling.createMessage({
      messages: [{ role: "user", content: { type: "text", text: about } }],
      maxTokens: 10
    })
    const [block] = Array.isArray(content) ? content : [content]
    return block?.type === "text" ? block.text : "?"
  })
)

export const Folders = Tool.make("folders", { description: "Lists the client's folders." })
const folders = Tools.layer(Folders, () => Effect.map(Roots.list, (roots) => roots.map(({ uri }) => uri).join("\n")))

export const Wait = Tool.make("wait", { description: "Never ends." })
const wait = Tools.layer(Wait, () => Effect.never)

const menu = Resources.layer({ uri: "menu://today", name: "menu" }, Effect.succeed("soup"))
const review = Prompts.layer(Prompt.make("review", { arguments: { file: Schema.String } }), ({ file }) =>
  Effect.succeed(`Review ${file}`)
)

export const features = Layer.mergeAll(bookTable, greet, think, folders, wait, menu, review)
