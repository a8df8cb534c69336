/** The contract of the bench, as a user of ours would write it: public API, default settings but for the number of the rate limit. */
import * as Progress from "@effect-mcp/core/Progress"
import * as Resources from "@effect-mcp/core/Resources"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import * as McpServer from "@effect-mcp/server/McpServer"
import * as Middleware from "@effect-mcp/server/Middleware"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as References from "effect/References"
import * as Schema from "effect/Schema"
import { setTimeout } from "node:timers/promises"
import * as C from "../peers/contract.mjs"

const Echo = Tool.make(C.echo.name, { description: C.echo.description, input: { text: Schema.String } })
const Add = Tool.make(C.add.name, {
  description: C.add.description,
  input: { a: Schema.Finite, b: Schema.Finite },
  output: { sum: Schema.Finite }
})

/** Handlers that call async functions, as those of most programs do. */
const asynchronous = Layer.mergeAll(
  Tools.layer(Echo, ({ text }) => Effect.promise(async () => text)),
  Tools.layer(Add, ({ a, b }) => Effect.promise(async () => ({ sum: a + b })))
)

/** Handlers that have ended when they return. */
const trivial = Layer.mergeAll(
  Tools.layer(Echo, ({ text }) => Effect.succeed(text)),
  Tools.layer(Add, ({ a, b }) => Effect.succeed({ sum: a + b }))
)

class Arithmetic extends Context.Service<Arithmetic, { readonly plus: (a: number, b: number) => number }>()(
  "bench/Arithmetic"
) {}

/** Generators that ask for a service. */
const asking = Layer.mergeAll(
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
)
const plus: Arithmetic["Service"] = { plus: (a, b) => a + b }
const generators = Layer.provide(asking, Layer.succeed(Arithmetic, plus))

/** The same with a service that each request makes. */
const provided = Layer.provide(
  asking,
  Middleware.provide(
    Arithmetic,
    Effect.sync(() => plus)
  )
)

const forms: { readonly [form: string]: typeof asynchronous } = { generators, provided, trivial }
const form = Object.keys(forms).find((form) => C.flag(form))
const handlers = (form === undefined ? undefined : forms[form]) ?? asynchronous

const wait = Tools.layer(
  Tool.make(C.wait.name, { description: C.wait.description, input: { text: Schema.String } }),
  ({ text }) => Effect.promise(() => setTimeout(C.waits, text))
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

export const contract = (fillers: ReadonlyArray<string>) =>
  Layer.mergeAll(handlers, wait, flood, readme, ...fillers.map(filler))
// The limit is on, as it is by default, and never met: a load driver calls more often than any caller is meant to.
export const rateLimit = { "tools/call": 1e9 }
const without = McpServer.layer({ ...C.info, rateLimit, features: contract(C.fillers) })

/** With tasks where the program is told to; without them nothing of their package is loaded. */
const plain = C.flag("tasks")
  ? Layer.unwrap(
      Effect.map(
        Effect.promise(() => import("./tasks.ts")),
        (tasks) =>
          McpServer.layer({
            ...C.info,
            rateLimit: { ...rateLimit, ...tasks.rateLimit },
            features: Layer.merge(contract(C.fillers.slice(tasks.tools)), tasks.features)
          })
      )
    )
  : without

/** With metrics where the program is told to; without them nothing of their package is loaded. */
export const server = C.flag("metrics")
  ? Layer.unwrap(
      Effect.map(
        Effect.promise(() => import("./observed.ts")),
        ({ metrics }) => Layer.provide(plain, metrics)
      )
    )
  : plain

/** Without the audit trail of tasks on stderr, where the program is told to: what writing it costs is that of the logger. */
const level = C.flag("quiet") ? Layer.succeed(References.MinimumLogLevel, "Warn") : Layer.empty

/** The tracer of the program, where it is told to have one, and its log level. */
const traces = C.flag("traces")
  ? Layer.unwrap(
      Effect.map(
        Effect.promise(() => import("./observed.ts")),
        ({ traces }) => traces
      )
    )
  : Layer.empty

export const ambient = Layer.merge(traces, level)
