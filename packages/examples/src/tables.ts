/**
 * A small server: one tool that asks before it acts, and one resource that can
 * be watched.
 */
import { Elicitation, Progress, Resources, Tool, Tools } from "@effect-mcp/core"
import { McpServer } from "@effect-mcp/server"
import { Context, Effect, Layer, Schema, Stream } from "effect"

/** The application itself, which does not depend on MCP. */
export class Restaurant extends Context.Service<
  Restaurant,
  {
    readonly reserve: (guests: number) => Effect.Effect<string>
    readonly menu: Effect.Effect<string>
    readonly newMenus: Stream.Stream<string>
  }
>()("tables/Restaurant") {
  static readonly layer = Layer.sync(Restaurant, () => {
    let tables = 0
    return {
      reserve: (guests) => Effect.sync(() => `table-${++tables}-for-${guests}`),
      menu: Effect.succeed("Soup of the day"),
      newMenus: Stream.empty
    }
  })
}

/**
 * Input and output of the tool. They type both the server's handler and the
 * client's call.
 */
export const BookTable = Tool.make("book_table", {
  description: "Books a table, once the guest has confirmed it.",
  input: { guests: Schema.Int },
  output: { reference: Schema.String }
})

const bookTable = Tools.layer(
  BookTable,
  Effect.fnUntraced(function* ({ guests }) {
    const restaurant = yield* Restaurant
    yield* Progress.report(1, { total: 2, message: "Asking the guest" })
    yield* Elicitation.confirm(`Book a table for ${guests}?`)
    return { reference: yield* restaurant.reserve(guests) }
  })
)

const menu = Resources.layer(
  { uri: "menu://today", name: "Today's menu" },
  Effect.flatMap(Restaurant, (restaurant) => restaurant.menu),
  Stream.unwrap(Effect.map(Restaurant, (restaurant) => restaurant.newMenus))
)

export const features = Layer.mergeAll(bookTable, menu)

export const server = McpServer.layer({
  name: "tables",
  version: "1.0.0",
  features
})
