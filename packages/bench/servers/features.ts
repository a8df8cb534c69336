/** The contract of the bench, as a user of ours would write it: public API, default settings. */
import * as Progress from "@effect-mcp/core/Progress"
import * as Resources from "@effect-mcp/core/Resources"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import * as McpServer from "@effect-mcp/server/McpServer"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as C from "../peers/contract.mjs"

const echo = Tools.layer(
  Tool.make(C.echo.name, { description: C.echo.description, input: { text: Schema.String } }),
  ({ text }) => Effect.succeed(text)
)

const add = Tools.layer(
  Tool.make(C.add.name, {
    description: C.add.description,
    input: { a: Schema.Finite, b: Schema.Finite },
    output: { sum: Schema.Finite }
  }),
  ({ a, b }) => Effect.succeed({ sum: a + b })
)

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
  features: Layer.mergeAll(echo, add, flood, readme, ...C.fillers.map(filler))
})
