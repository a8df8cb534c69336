/** The contract of the bench, as a user of ours would write it: public API, default settings but for the number of the rate limit. */
import * as Progress from "@effect-mcp/core/Progress"
import * as Resources from "@effect-mcp/core/Resources"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import * as McpServer from "@effect-mcp/server/McpServer"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as C from "../peers/contract.mjs"

const Echo = Tool.make(C.echo.name, { description: C.echo.description, input: { text: Schema.String } })
const Add = Tool.make(C.add.name, {
  description: C.add.description,
  input: { a: Schema.Finite, b: Schema.Finite },
  output: { sum: Schema.Finite }
})

/** Done at once: the cheapest that a user would write. */
const values = Layer.mergeAll(
  Tools.layer(Echo, ({ text }) => Effect.succeed(text)),
  Tools.layer(Add, ({ a, b }) => Effect.succeed({ sum: a + b }))
)

class Arithmetic extends Context.Service<Arithmetic, { readonly plus: (a: number, b: number) => number }>()(
  "bench/Arithmetic"
) {}

/** What most users would write: generators with a service. */
const generators = Layer.mergeAll(
  Tools.layer(
    Echo,
    Effect.fnUntraced(function* ({ text }) {
      yield* Arithmetic
      return text
    })
  ),
  Tools.layer(
    Add,
    Effect.fnUntraced(function* ({ a, b }) {
      const { plus } = yield* Arithmetic
      return { sum: plus(a, b) }
    })
  )
).pipe(Layer.provide(Layer.succeed(Arithmetic, { plus: (a, b) => a + b })))

const flood = Tools.layer(
  Tool.make(C.flood.name, { description: C.flood.description, input: { n: Schema.Finite } }),
  Effect.fnUntraced(function* ({ n }) {
    for (let i = 1; i <= n; i++) yield* Progress.report(i, { total: n })
    return "done"
  })
)

const filler = (name: string) =>
  Tools.layer(
    Tool.make(name, {
      description: C.descriptionOf(name),
      input: {
        query: Schema.String.annotate({ description: C.queryDescription }),
        limit: Schema.optionalKey(Schema.Finite.annotate({ description: C.limitDescription }))
      }
    }),
    () => Effect.succeed("ok")
  )

const { uri, name, mimeType, text } = C.resource
const readme = Resources.layer({ uri, name, mimeType }, Effect.succeed(text))

export const server = McpServer.layer({
  ...C.info,
  // The limit is on, as it is by default, and never met: a load driver calls more often than any caller is meant to.
  rateLimit: { "tools/call": 1e9 },
  features: Layer.mergeAll(C.flag("generators") ? generators : values, flood, readme, ...C.fillers.map(filler))
})
