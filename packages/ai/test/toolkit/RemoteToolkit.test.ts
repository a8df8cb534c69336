/** Server tools as a toolkit for a language model, in every revision. */
import { RemoteToolkit } from "@effect-mcp/ai"
import * as McpClients from "@effect-mcp/client/McpClients"
import { Content, Memory, Progress, Tool, Tools } from "@effect-mcp/core"
import { TransportError } from "@effect-mcp/core/Transport"
import * as Revision from "@effect-mcp/protocol/Revision"
import * as McpServer from "@effect-mcp/server/McpServer"
import { quiesce } from "@effect-mcp/testing/Quiesce"
import * as McpTest from "@effect-mcp/testing/McpTest"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Effect, Exit, Layer, Logger, Schema, Scope, Stream } from "effect"
import { TestClock } from "effect/testing"
import { LanguageModel, Prompt } from "effect/ai"
import { call, finish, model, text } from "../support/model.ts"

const Add = Tool.make("math.add", {
  description: "Adds",
  annotations: { readOnlyHint: true },
  input: { a: Schema.Finite, b: Schema.Finite },
  output: { sum: Schema.Finite }
})
const features = Layer.mergeAll(
  Tools.layer(Add, ({ a, b }) => Effect.as(Progress.report(1, { message: "adding" }), { sum: a + b })),
  Tools.layer(Tool.make("draw", { description: "Draws" }), () =>
    Effect.succeed([
      { type: "text" as const, text: "A dot" },
      { type: "image" as const, data: "AAAA", mimeType: "image/png" }
    ])
  ),
  Tools.layer(Tool.make("fail", { description: "Fails" }), () =>
    Effect.fail(new Tools.ToolFailure({ message: "It is broken" }))
  )
)

describe.each(Revision.all)("Server tools in $version", (revision) => {
  const connected = McpTest.connect(features, revision)

  it.effect("A language model calls a server's tools and reads their results", () =>
    Effect.gen(function* () {
      const toolkit = yield* RemoteToolkit.fromClient(yield* connected)
      const { asked, layer } = model([call("1", "math_add", { a: 1, b: 2 }), finish("tool-calls")])
      const response = yield* Effect.provide(LanguageModel.generateText({ prompt: "1 + 2?", toolkit }), layer)
      assert.deepStrictEqual(
        asked[0]?.tools.map(({ name }) => name),
        ["math_add", "draw", "fail"]
      )
      const [result] = response.toolResults
      assert.isFalse(result?.isFailure)
      assert.deepInclude(result?.encodedResult, {
        content: [{ type: "text", text: `{"sum":3}` }],
        ...(revision.version < "2025-06-18" ? undefined : { structuredContent: { sum: 3 } })
      })
    })
  )

  it.effect.each([
    ["throws", () => assert.fail("thrown")],
    ["returns a rejected promise", () => Promise.reject(new Error("rejected"))],
    ["returns a promise", () => Promise.resolve(false)],
    ["returns undefined", () => undefined]
  ] as ReadonlyArray<readonly [string, () => any]>)("A toolkit fails if its filter or needsApproval %s", ([, call]) =>
    Effect.gen(function* () {
      const client = yield* connected
      for (const options of [{ filter: call }, { needsApproval: call }]) {
        const exit = yield* Effect.exit(RemoteToolkit.fromClient(client, options))
        assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
      }
    })
  )

  it.effect("Server tools return media to the model as files", () =>
    Effect.gen(function* () {
      const toolkit = yield* RemoteToolkit.fromClient(yield* connected)
      const results = yield* Stream.runCollect(yield* toolkit.handle("draw", {}))
      assert.deepStrictEqual(results.at(-1)?.modelOutput, [
        Prompt.textPart({ text: "A dot" }),
        Prompt.filePart({ mediaType: "image/png", data: "AAAA" })
      ])
    })
  )

  it.effect("The model reads only content meant for it, and the host receives all content", () =>
    Effect.gen(function* () {
      const audience = (...audience: ReadonlyArray<"user" | "assistant">) => ({ annotations: { audience } })
      const own = Tool.make("own", { description: "", output: { n: Schema.Int } })
      const server = Layer.mergeAll(
        Tools.layer(Tool.make("mixed", { description: "" }), () =>
          Effect.succeed([
            Content.text("both", audience("user", "assistant")),
            Content.text("user", audience("user")),
            Content.text("model", audience("assistant")),
            Content.image(new Uint8Array(3), "image/png", audience("user"))
          ])
        ),
        Tools.layer(own, () => Effect.succeed({ n: 1 }), { content: () => Content.text("user", audience("user")) }),
        Tools.layer(Tool.make("hidden", { description: "" }), () => Effect.succeed(Content.text("", audience("user")))),
        Tools.layer(Tool.make("broken", { description: "" }), () =>
          Effect.succeed({
            isError: true,
            content: [Content.text("details", audience("user")), Content.text("try later")]
          })
        )
      )
      const toolkit = yield* RemoteToolkit.fromClient(yield* McpTest.connect(server, revision))
      const last = (name: string) =>
        Effect.map(Effect.flatMap(toolkit.handle(name, {}), Stream.runCollect), (results) => results.at(-1))
      const mixed = yield* last("mixed")
      assert.deepStrictEqual(mixed?.modelOutput, [
        Prompt.textPart({ text: "both" }),
        Prompt.textPart({ text: "model" })
      ])
      assert(mixed !== undefined && "content" in mixed.result)
      assert.lengthOf(mixed.result.content, 4)
      assert.deepStrictEqual((yield* last("own"))?.modelOutput, [
        Prompt.textPart({
          text: revision.version < "2025-06-18" ? "The result is only meant for the user." : '{"n":1}'
        })
      ])
      assert.deepStrictEqual((yield* last("hidden"))?.modelOutput, [
        Prompt.textPart({ text: "The result is only meant for the user." })
      ])
      assert.deepStrictEqual((yield* last("broken"))?.encodedResult, { message: "try later" })
    })
  )

  it.effect("The model reads text without escape sequences and hidden characters, unless it is raw", () =>
    Effect.gen(function* () {
      const dirty = "\u001b]0;title\u0007\u001b[31mred\u001b[0m\u{e0041}\u200b\u202e\r\n\tend"
      const server = Layer.mergeAll(
        Tools.layer(Tool.make("text", { description: "" }), () => Effect.succeed(dirty)),
        Tools.layer(Tool.make("resource", { description: "" }), () => Effect.succeed(Content.resource("x:1", dirty))),
        Tools.layer(Tool.make("failed", { description: "" }), () =>
          Effect.fail(new Tools.ToolFailure({ message: dirty }))
        )
      )
      const client = yield* McpTest.connect(server, revision)
      for (const [raw, text] of [
        [false, "red\n\tend"],
        [true, dirty]
      ] as const) {
        const toolkit = yield* RemoteToolkit.fromClient(client, { raw })
        const last = (name: string) =>
          Effect.map(Effect.flatMap(toolkit.handle(name, {}), Stream.runCollect), (results) => results.at(-1))
        for (const name of ["text", "resource"]) {
          assert.deepStrictEqual((yield* last(name))?.modelOutput, [Prompt.textPart({ text })])
        }
        assert.deepStrictEqual((yield* last("failed"))?.encodedResult, { message: text })
        assert.include(JSON.stringify((yield* last("text"))?.result), "u001b")
      }
    })
  )

  it.effect("Server tools report progress as preliminary results", () =>
    Effect.gen(function* () {
      const toolkit = yield* RemoteToolkit.fromClient(yield* connected)
      const results = yield* Stream.runCollect(yield* toolkit.handle("math_add", { a: 1, b: 2 }))
      const said = revision.rules.progressMessage ? "adding" : "1"
      assert.deepStrictEqual(
        results.map(({ preliminary, result }) => [preliminary, "content" in result ? result.content[0] : result]),
        [
          [true, { type: "text", text: said }],
          [false, { type: "text", text: `{"sum":3}` }]
        ]
      )
    })
  )

  it.effect("The model is told why a server tool failed", () =>
    Effect.gen(function* () {
      const toolkit = yield* RemoteToolkit.fromClient(yield* connected)
      const failureOf = (name: string, input: unknown) =>
        Effect.map(Effect.flatMap(toolkit.handle(name, input), Stream.runCollect), (results) => {
          const last = results.at(-1)
          assert.isTrue(last?.isFailure)
          return JSON.stringify(last?.encodedResult)
        })
      assert.include(yield* failureOf("fail", {}), "It is broken")
      assert.include(yield* failureOf("math_add", { a: "one" }), "Invalid arguments")
      assert.include(yield* failureOf("draw", "no object"), "must be a JSON object")
    })
  )
})

describe("Toolkits from several servers", () => {
  const connected = McpTest.connect(features, "2026-07-28")

  it.effect("A toolkit contains the tools that pass its filter, with prefixed names and the configured approval", () =>
    Effect.gen(function* () {
      const [one, other] = [yield* connected, yield* connected]
      const toolkit = yield* RemoteToolkit.fromClients([
        [one, { prefix: "one_", filter: ({ name }) => name !== "fail" }],
        [other, { needsApproval: ({ annotations }) => annotations?.readOnlyHint !== true }]
      ])
      assert.deepStrictEqual(
        Object.entries(toolkit.tools).map(([name, { needsApproval }]) => [name, needsApproval]),
        [
          ["one_math_add", undefined],
          ["one_draw", undefined],
          ["math_add", false],
          ["draw", true],
          ["fail", true]
        ]
      )
      const { layer } = model([call("1", "one_math_add", { a: 2, b: 2 }), text("done"), finish("tool-calls")])
      const { toolResults } = yield* Effect.provide(LanguageModel.generateText({ prompt: "?", toolkit }), layer)
      assert.lengthOf(toolResults, 1)
    })
  )

  it.effect("A toolkit asks its approvals about each call, with the arguments that the server receives", () =>
    Effect.gen(function* () {
      const calls: Array<string> = []
      const record = (what: string, { id, input, server, tool }: RemoteToolkit.ModelCall) =>
        void calls.push(`${what} ${id} ${server} ${tool} ${JSON.stringify(input)}`)
      const approvals: RemoteToolkit.CallApprovals = {
        needed: (call) =>
          Effect.as(
            Effect.sync(() => record("needed", call)),
            call.tool === "draw"
          ),
        within: (effect, call) =>
          Effect.andThen(
            Effect.sync(() => record("within", call)),
            effect
          )
      }
      const toolkit = yield* RemoteToolkit.fromClient(yield* connected, {
        approvals,
        needsApproval: ({ name }) => name === "fail"
      })
      const turn = [call("1", "math_add", { a: 2, b: 2 }), call("2", "draw", {}), call("3", "fail", {})]
      const { layer } = model([...turn, finish("tool-calls")])
      const { content, toolResults } = yield* Effect.provide(
        LanguageModel.generateText({ prompt: "?", toolkit }),
        layer
      )
      const requests = content.filter((part) => part.type === "tool-approval-request")
      assert.deepStrictEqual(
        requests.map(({ toolCallId }) => toolCallId),
        ["2", "3"]
      )
      assert.lengthOf(toolResults, 1)
      assert.deepStrictEqual(calls.toSorted(), [
        `needed 1 undefined math.add {"a":2,"b":2}`,
        "needed 2 undefined draw {}",
        "needed 3 undefined fail {}",
        `within 1 undefined math.add {"a":2,"b":2}`
      ])
    })
  )

  it.effect("A toolkit with two tools with the same name is rejected", () =>
    Effect.gen(function* () {
      const client = yield* connected
      const error = yield* Effect.flip(RemoteToolkit.fromClients([[client], [client]]))
      assert(error._tag === "NameTaken")
      assert.strictEqual(error.name, "math_add")
    })
  )

  it.effect("A toolkit uses a table of servers and reports the servers that are gone", () =>
    Effect.gen(function* () {
      const built = yield* Layer.build(McpServer.layer({ name: "test", version: "1", features }))
      const server = Context.get(built, McpServer.McpServer)
      const wire = yield* Scope.make()
      let tries = 0
      const once = Effect.gen(function* () {
        if (tries++ > 0) return yield* new TransportError({ reason: "Open", message: "There is no such process" })
        const [near, far] = yield* Scope.provide(Memory.pair(), wire)
        yield* Scope.provide(server.connect(far), wire)
        return near
      })
      const lasting = Effect.gen(function* () {
        const [near, far] = yield* Memory.pair()
        yield* server.connect(far)
        return near
      })
      const clients = yield* McpClients.make({
        one: McpClients.server({ connector: once }),
        two: McpClients.server({ connector: lasting })
      })
      const toolkit = yield* RemoteToolkit.fromServers(clients, { filter: ({ name }) => name !== "fail" })
      assert.deepStrictEqual(Object.keys(toolkit.tools), ["one_math_add", "one_draw", "two_math_add", "two_draw"])
      const { layer } = model([call("1", "two_math_add", { a: 2, b: 2 }), finish("tool-calls")])
      const { toolResults } = yield* Effect.provide(LanguageModel.generateText({ prompt: "?", toolkit }), layer)
      assert.deepInclude(toolResults[0]?.encodedResult, { structuredContent: { sum: 4 } })
      yield* Scope.close(wire, Exit.void)
      yield* quiesce
      yield* TestClock.adjust("1 second")
      const results = yield* Effect.flatMap(toolkit.handle("one_draw", {}), Stream.runCollect)
      assert.isTrue(results.at(-1)?.isFailure)
      assert.include(JSON.stringify(results.at(-1)?.encodedResult), "The server one is not connected")
    })
  )
})

describe("tools that a model's provider rejects", () => {
  const schema = (inner: object) => ({ type: "object", properties: {}, ...inner }) as const
  const raw = (name: string, inputSchema: object) =>
    Tools.layer(Tool.raw(name, { description: name, inputSchema: { ...inputSchema } }), (input) =>
      Effect.succeed(JSON.stringify(input))
    )
  const union = raw(
    "union",
    schema({
      anyOf: [
        { type: "object", properties: { kind: { const: "a" }, a: { type: "string" } }, required: ["kind", "a"] },
        { type: "object", properties: { kind: { const: "b" }, b: { type: "integer" } }, required: ["kind", "b"] }
      ]
    })
  )
  const renamed = raw("renamed", schema({ properties: { "a[]": { type: "string" } } }))
  const broken = Tools.layer(
    Tool.fromCodecs("broken", {
      description: "Broken",
      input: {
        jsonSchema: schema({ properties: { a: { $ref: "https://example.com/schema.json" } } }),
        decode: () => Effect.succeed({}),
        encode: () => Effect.succeed({})
      }
    }),
    () => Effect.succeed("ok")
  )
  const long = Tools.layer(Tool.make("long", { description: "Long. ".repeat(200) }), () => Effect.succeed("ok"))

  /** Connects to a server that lists its schemas unchanged. */
  const connected = (features: Layer.Layer<never, never, McpServer.Registries>) =>
    McpTest.connect(features, "2025-11-25", { server: { portability: "off" } })

  it.effect("A union becomes one object for the model and still decodes", () =>
    Effect.gen(function* () {
      const toolkit = yield* RemoteToolkit.fromClient(yield* connected(union))
      const { asked, layer } = model([call("1", "union", { kind: "b", b: 1 }), finish("tool-calls")])
      const { toolResults } = yield* Effect.provide(LanguageModel.generateText({ prompt: "?", toolkit }), layer)
      assert.notInclude(JSON.stringify(asked[0]?.tools[0]), "anyOf")
      assert.deepInclude(toolResults[0]?.encodedResult, { content: [{ type: "text", text: '{"kind":"b","b":1}' }] })
    })
  )

  it.effect("A renamed argument reaches the server under its original name", () =>
    Effect.gen(function* () {
      const toolkit = yield* RemoteToolkit.fromClient(yield* connected(renamed))
      const { layer } = model([call("1", "renamed", { a__: "x" }), finish("tool-calls")])
      const { toolResults } = yield* Effect.provide(LanguageModel.generateText({ prompt: "?", toolkit }), layer)
      assert.deepInclude(toolResults[0]?.encodedResult, { content: [{ type: "text", text: '{"a[]":"x"}' }] })
    })
  )

  it.effect("Omits a tool that no provider accepts, with a warning", () =>
    Effect.gen(function* () {
      const messages: Array<string> = []
      const logger = Logger.layer([Logger.make(({ message }) => void messages.push(String(message)))])
      const client = yield* connected(Layer.merge(broken, union))
      const toolkit = yield* Effect.provide(RemoteToolkit.fromClient(client), logger)
      assert.deepStrictEqual(Object.keys(toolkit.tools), ["union"])
      assert.match(messages.join(), /Skipped the tool "broken":\n {2}- inputSchema \/properties\/a: A reference/)
    })
  )

  it.effect("A tool rejected by one provider is omitted only for that provider", () =>
    Effect.gen(function* () {
      const client = yield* connected(Layer.merge(long, union))
      const names = (options?: RemoteToolkit.Options) =>
        Effect.map(RemoteToolkit.fromClient(client, options), ({ tools }) => Object.keys(tools))
      assert.deepStrictEqual(yield* names(), ["long", "union"])
      assert.deepStrictEqual(yield* names({ provider: "anthropic" }), ["long", "union"])
      assert.deepStrictEqual(yield* names({ provider: "openai" }), ["union"])
    })
  )
})
