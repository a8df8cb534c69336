/**
 * Small tools for trying out a client: echo, sums, failures of every kind, large answers, calls that wait to be cancelled, and things that
 * change while the client watches.
 */
import { Log, Progress, Tool, Tools } from "@effect-mcp/core"
import { McpError } from "@effect-mcp/protocol"
import { Effect, Layer, Schema, SubscriptionRef } from "effect"
import { recordInterruption, State } from "./state.ts"

const echo = Tools.layer(
  Tool.make("echo", { description: "Says what it is told.", input: { message: Schema.String } }),
  ({ message }) => Effect.succeed(message)
)

const add = Tools.layer(
  Tool.make("add", {
    description: "Adds two numbers.",
    input: { a: Schema.Finite, b: Schema.Finite },
    output: { sum: Schema.Finite },
    annotations: { readOnlyHint: true, idempotentHint: true }
  }),
  ({ a, b }) => Effect.succeed({ sum: a + b })
)

/** Over HTTP, a gateway can route the call by a header, without reading the body. */
const route = Tools.layer(
  Tool.make("route", {
    description: "Says where it was called for. The region travels in an HTTP header too.",
    input: { region: Schema.String.annotate({ "x-mcp-header": "Region" }) }
  }),
  ({ region }) => Effect.succeed(`Routed to ${region}.`)
)

const slow = Tools.layer(
  Tool.make("slow", {
    description:
      "Waits until it is cancelled; test://interruptions then shows its label. Reports progress once it waits.",
    input: { label: Schema.String }
  }),
  ({ label }) =>
    Effect.andThen(Progress.report(1, { message: `Waiting: ${label}` }), Effect.never).pipe(
      Effect.onInterrupt(() => recordInterruption(label))
    )
)

/** In bytes: more than a stream accepts at once, less than a client rejects. */
const most = 4_000_000

const big = Tools.layer(
  Tool.make("big", {
    description: "Answers with a text of that many bytes.",
    input: { bytes: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: most })) }
  }),
  ({ bytes }) => Effect.sync(() => "x".repeat(bytes))
)

const kinds = Schema.Literals(["tool", "protocol", "defect"])

const fail = Tools.layer(
  Tool.make("fail", { description: "Fails: as a tool, as a protocol, or as a program.", input: { as: kinds } }),
  ({ as }) => {
    if (as === "tool") return Effect.fail(new Tools.ToolFailure({ message: "The tool failed" }))
    if (as === "protocol") return Effect.fail(McpError.invalidParams("The request failed"))
    return Effect.die(new Error("This stays inside"))
  }
)

const log = Tools.layer(
  Tool.make("log", {
    description: "Logs one message at every level, least severe first.",
    input: { message: Schema.String }
  }),
  Effect.fnUntraced(function* ({ message }) {
    const { debug, info, notice, warning, error, critical, alert, emergency } = Log
    for (const at of [debug, info, notice, warning, error, critical, alert, emergency]) yield* at(message, "everything")
    return "Logged at eight levels."
  })
)

const touch = Tools.layer(
  Tool.make("touch", { description: "Changes test://watched-resource." }),
  Effect.fnUntraced(function* () {
    const times = yield* SubscriptionRef.updateAndGet((yield* State).touched, (times) => times + 1)
    return `Touched ${times} times.`
  })
)

/** Registers one more tool for the lifetime of the server. */
const grow = Layer.unwrap(
  Effect.gen(function* () {
    const scope = yield* Effect.scope
    const registry = yield* Tools.ToolRegistry
    const grown = new Set<string>()
    return Tools.layer(
      Tool.make("grow", {
        description: "Makes the server offer one more tool, of the given name.",
        input: { name: Schema.String.check(Schema.isPattern(/^[a-z]{1,20}$/)) }
      }),
      Effect.fnUntraced(function* ({ name }) {
        if (grown.has(name)) return yield* new Tools.ToolFailure({ message: `${name} has grown already` })
        grown.add(name)
        const tool = Tools.layer(Tool.make(`grown_${name}`, { description: "A tool that was not there before." }), () =>
          Effect.succeed(`I am ${name}.`)
        )
        yield* Layer.buildWithScope(Layer.provide(tool, Layer.succeed(Tools.ToolRegistry, registry)), scope)
        return `grown_${name}`
      })
    )
  })
)

export const practical = Layer.mergeAll(echo, add, route, slow, big, fail, log, touch, grow)
