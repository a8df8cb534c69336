/** An `effect/ai` toolkit served as MCP tools, called by a client in every revision. */
import { ServedToolkit } from "@effect-mcp/ai"
import { Elicitation, Progress, Tool as McpTool, type Tools } from "@effect-mcp/core"
import * as Revision from "@effect-mcp/protocol/Revision"
import * as McpTest from "@effect-mcp/testing/McpTest"
import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Fiber, Layer, Schema, Stream } from "effect"
import { AiError, Tool, Toolkit } from "effect/ai"

class Tables extends Context.Service<Tables, { readonly celsius: number }>()("test/Tables") {}
const NoSuchCity = Schema.Struct({ noSuchCity: Schema.String })

const Forecast = Tool.make("forecast", {
  description: "The weather",
  parameters: Schema.Struct({ city: Schema.String, on: Schema.DateTimeUtcFromString }),
  success: Schema.Struct({ celsius: Schema.Finite, on: Schema.DateTimeUtcFromString }),
  failure: NoSuchCity
})
  .annotate(Tool.Readonly, true)
  .annotate(Tool.Destructive, false)
  .annotate(Tool.Title, "Forecast")
const Name = Tool.make("name", {
  description: "A text",
  success: Schema.String,
  failureMode: "return",
  failure: NoSuchCity
})
const Forget = Tool.make("forget", { description: "Nothing" })
const Broken = Tool.make("broken", { description: "Fails in a way that it does not declare" })
const Steps = Tool.make("steps", { description: "Takes steps", success: Schema.String })
const Asks = Tool.make("asks", {
  description: "Asks the user",
  success: Schema.String,
  failure: Schema.String,
  dependencies: [Elicitation.Elicitation]
})
const Guarded = Tool.make("guarded", {
  description: "Runs with approval",
  parameters: Schema.Struct({ sure: Schema.Boolean }),
  success: Schema.String,
  needsApproval: ({ sure }) => !sure
})
const Raw = Tool.dynamic("raw", {
  description: "Described by a JSON Schema",
  parameters: { type: "object", properties: { n: { type: "integer" } }, required: ["n"] }
})

const Kit = Toolkit.make(Forecast, Name, Forget, Broken, Steps, Asks, Guarded, Raw)
const handlers = Kit.toLayer(
  Effect.map(Tables, ({ celsius }) => ({
    forecast: ({ city, on }) =>
      city === "Atlantis" ? Effect.fail({ noSuchCity: city }) : Effect.succeed({ celsius, on }),
    name: () => Effect.succeed("Ada"),
    forget: () => Effect.void,
    broken: () => Effect.fail(new AiError.AuthenticationError({ kind: "InvalidKey" })),
    steps: (_, { preliminary }) => Effect.as(Effect.andThen(preliminary("one"), preliminary("two")), "done"),
    asks: () =>
      Elicitation.form("Your name?", Schema.Struct({ name: Schema.String })).pipe(
        Effect.map(({ name }) => name),
        Effect.mapError(({ message }) => message)
      ),
    guarded: () => Effect.succeed("ran"),
    raw: (input) => Effect.succeed({ got: input })
  }))
)
const features = ServedToolkit.layer(Kit).pipe(
  Layer.provide(handlers),
  Layer.provide(Layer.succeed(Tables, { celsius: 21 }))
)
const user = (content: Readonly<Record<string, string | boolean>>) =>
  Elicitation.layer({ form: () => Effect.succeed({ action: "accept", content }) })

describe.each(Revision.all)("Served toolkits in $version", (revision) => {
  const connected = McpTest.connect(features, revision)
  const asksUser = revision.serverRequests["elicitation/create"] !== undefined

  it.effect("A served toolkit is listed with its descriptions, schemas and annotations", () =>
    Effect.gen(function* () {
      const tools = yield* Stream.runCollect((yield* connected).listTools)
      assert.deepStrictEqual(tools.map(({ name }) => name).toSorted(), [
        "asks",
        "broken",
        "forecast",
        "forget",
        "guarded",
        "name",
        "raw",
        "steps"
      ])
      const forecast = tools.find(({ name }) => name === "forecast")
      assert.strictEqual(forecast?.description, "The weather")
      assert.deepStrictEqual(forecast?.inputSchema["required"], ["city", "on"])
      if (revision.version !== "2024-11-05") assert.isTrue(forecast?.annotations?.readOnlyHint)
      const raw = tools.find(({ name }) => name === "raw")
      assert.deepStrictEqual(raw?.inputSchema["required"], ["n"])
    })
  )

  it.effect("A served toolkit returns its handlers' results: data, text or nothing", () =>
    Effect.gen(function* () {
      const client = yield* connected
      const on = "2026-11-22T00:00:00.000Z"
      const data = yield* client.callToolByName("forecast", { city: "Rome", on })
      assert.deepStrictEqual(data.content, [{ type: "text", text: JSON.stringify({ celsius: 21, on }) }])
      const { content } = yield* client.callToolByName("name")
      assert.deepStrictEqual(content, [{ type: "text", text: "Ada" }])
      assert.deepStrictEqual((yield* client.callToolByName("forget")).content, [])
      const raw = yield* client.callToolByName("raw", { n: 1 })
      assert.deepStrictEqual(raw.content, [{ type: "text", text: `{"got":{"n":1}}` }])
    })
  )

  it.effect("A served toolkit rejects invalid arguments before its handler runs", () =>
    Effect.gen(function* () {
      const client = yield* connected
      for (const [name, input] of [
        ["forecast", { city: 1 }],
        ["raw", { n: "one" }]
      ] as const) {
        const answer = yield* Effect.result(client.callToolByName(name, input))
        const said = answer._tag === "Success" ? JSON.stringify(answer.success) : answer.failure.message
        assert.include(said, `Invalid arguments for tool ${name}`)
      }
    })
  )

  it.effect("A served toolkit sends declared failures and hides all others", () =>
    Effect.gen(function* () {
      const client = yield* connected
      const Typed = McpTool.make("forecast", {
        description: "",
        input: { city: Schema.String, on: Schema.String },
        failure: NoSuchCity
      })
      const error = yield* Effect.flip(client.callTool(Typed, { city: "Atlantis", on: "2026-11-22T00:00:00.000Z" }))
      assert.deepStrictEqual(error, { noSuchCity: "Atlantis" })
      const { message } = yield* Effect.flip(client.callToolByName("broken"))
      assert.notInclude(message, "InvalidKey")
    })
  )

  it.effect("A served toolkit reports preliminary results as progress", () =>
    Effect.gen(function* () {
      const events = yield* Stream.runCollect((yield* connected).callToolByNameStream("steps"))
      const progress = events.flatMap((event) => (event._tag === "Progress" ? [[event.progress, event.message]] : []))
      const said = revision.rules.progressMessage ? ["one", "two"] : [undefined, undefined]
      assert.deepStrictEqual(progress, [
        [1, said[0]],
        [2, said[1]]
      ])
    })
  )

  if (asksUser)
    it.effect("A served toolkit's handlers have the request's services", () =>
      Effect.gen(function* () {
        const client = yield* connected
        const { content } = yield* client.callToolByName("asks")
        assert.deepStrictEqual(content, [{ type: "text", text: "Ada" }])
      }).pipe(Effect.provide(user({ name: "Ada" })))
    )

  if (asksUser)
    it.effect("A served toolkit asks the user before a call that needs approval", () =>
      Effect.gen(function* () {
        const asked = (run: boolean, sure: boolean) =>
          Effect.flatMap(connected, (client) => client.callToolByName("guarded", { sure })).pipe(
            Effect.provide(user({ run }))
          )
        const text = ({ content: [block] }: Effect.Success<ReturnType<typeof asked>>) =>
          block?.type === "text" ? block.text : ""
        assert.strictEqual(text(yield* asked(true, false)), "ran")
        const refused = yield* asked(false, false)
        assert.isTrue(refused.isError)
        assert.strictEqual(text(refused), "The user did not allow guarded to run")
        assert.strictEqual(text(yield* asked(false, true)), "ran")
      })
    )

  if (asksUser)
    it.effect("A served toolkit reports that the user declined, even for a tool with a JSON Schema", () =>
      Effect.gen(function* () {
        const kit = Toolkit.make(Tool.dynamic("raw", { parameters: { type: "object" }, needsApproval: true }))
        const served = Layer.provide(ServedToolkit.layer(kit), kit.toLayer({ raw: () => Effect.succeed("ran") }))
        const client = yield* McpTest.connect(served, revision)
        const { content, isError } = yield* client.callToolByName("raw")
        assert.deepStrictEqual([isError, content], [true, [{ type: "text", text: "The user declined" }]])
      }).pipe(Effect.provide(Elicitation.layer({ form: () => Effect.succeed({ action: "decline" }) })))
    )

  it.effect.each([
    ["throws", () => assert.fail("thrown")],
    ["returns a rejected promise", () => Promise.reject(new Error("rejected"))],
    ["returns a promise", () => Promise.resolve(false)],
    ["returns undefined", () => undefined],
    ["succeeds with undefined", () => Effect.succeed(undefined)]
  ] as ReadonlyArray<readonly [string, () => any]>)("A needsApproval that %s prevents the call", ([, needsApproval]) =>
    Effect.gen(function* () {
      let ran = 0
      const kit = Toolkit.make(Tool.make("guarded", { description: "", success: Schema.String, needsApproval }))
      const handlers = kit.toLayer({ guarded: () => Effect.sync(() => `${++ran}`) })
      const client = yield* McpTest.connect(Layer.provide(ServedToolkit.layer(kit), handlers), revision)
      const error = yield* Effect.flip(client.callToolByName("guarded"))
      assert.deepInclude(error, { code: -32603, message: "Internal error" })
      assert.strictEqual(ran, 0)
      yield* Stream.runCollect(client.listTools)
    })
  )

  it.effect("A served toolkit interrupts a cancelled call's handler", () =>
    Effect.gen(function* () {
      const begun = yield* Deferred.make<void>()
      const ended = yield* Deferred.make<void>()
      const Hangs = Toolkit.make(Tool.make("hangs", { description: "Never ends" }))
      const hangs = Hangs.toLayer({
        hangs: () =>
          Effect.andThen(Deferred.succeed(begun, undefined), Effect.never).pipe(
            Effect.onInterrupt(() => Deferred.succeed(ended, undefined))
          )
      })
      const client = yield* McpTest.connect(Layer.provide(ServedToolkit.layer(Hangs), hangs), revision)
      const calling = yield* Effect.forkChild(client.callToolByName("hangs"), { startImmediately: true })
      yield* Deferred.await(begun)
      yield* Fiber.interrupt(calling)
      yield* Deferred.await(ended)
    })
  )
})

describe("Served toolkit types", () => {
  it("A served toolkit's type requires its tools' services, except request services", () => {
    class Prices extends Context.Service<Prices, number>()("test/Prices") {}
    const Priced = Toolkit.make(Tool.make("price", { dependencies: [Prices, Progress.Progress] }))
    const layer: Layer.Layer<never, never, Prices | Tools.ToolRegistry | Tool.HandlersFor<typeof Priced.tools>> =
      ServedToolkit.layer(Priced)
    assert.isDefined(layer)
  })
})
