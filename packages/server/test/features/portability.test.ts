import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Layer, Logger, Schema } from "effect"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import * as McpServer from "@effect-mcp/server/McpServer"
import { connect, everyVersion, serve, session } from "../support/raw.ts"

const File = Schema.Struct({ kind: Schema.Literal("file"), path: Schema.String })
const Page = Schema.Struct({ kind: Schema.Literal("page"), url: Schema.String })
const Open = Tool.make("open", { description: "Opens a file or a page", input: Schema.Union([File, Page]) })
const open = Tools.layer(Open, (input) =>
  Effect.succeed(input.kind === "file" ? `file ${input.path}` : `page ${input.url}`)
)

const List = Tool.make("list", { description: "Lists calls", input: { "Date<": Schema.String, limit: Schema.Int } })
const list = Tools.layer(List, (input) => Effect.succeed(`before ${input["Date<"]}, at most ${input.limit}`))

const plain = Tools.layer(Tool.make("plain", { description: "Plain", input: { a: Schema.String } }), ({ a }) =>
  Effect.succeed(a)
)
const dotted = Tools.layer(Tool.make("a.b", { description: "Dotted" }), () => Effect.succeed("ok"))

/** Collects the messages of log entries. */
const collected = () => {
  const messages: Array<string> = []
  const layer = Logger.layer([Logger.make(({ message }) => void messages.push(String(message)))])
  return { messages, layer }
}

describe("Tools that some host cannot use", () => {
  for (const version of everyVersion()) {
    it.effect(`A union is listed as one object, and each member reaches its handler in ${version}`, () =>
      Effect.gen(function* () {
        const client = yield* session(open, { version })
        const [tool] = (yield* client.request("tools/list")).tools
        assert.notProperty(tool.inputSchema, "anyOf")
        assert.deepStrictEqual(tool.inputSchema["required"], ["kind"])
        assert.deepStrictEqual(Object.keys(tool.inputSchema["properties"]), ["kind", "path", "url"])
        const file = yield* client.call("open", { kind: "file", path: "a.txt" })
        assert.strictEqual(file.content[0].text, "file a.txt")
        const page = yield* client.call("open", { kind: "page", url: "x:y" })
        assert.strictEqual(page.content[0].text, "page x:y")
      })
    )

    it.effect(`A property with a rejected name accepts either of its names in ${version}`, () =>
      Effect.gen(function* () {
        const client = yield* session(list, { version })
        const [tool] = (yield* client.request("tools/list")).tools
        assert.deepStrictEqual(tool.inputSchema["required"], ["Date_", "limit"])
        const renamed = yield* client.call("list", { Date_: "May", limit: 1 })
        assert.strictEqual(renamed.content[0].text, "before May, at most 1")
        const original = yield* client.call("list", { "Date<": "June", limit: 2 })
        assert.strictEqual(original.content[0].text, "before June, at most 2")
      })
    )
  }

  it.effect("An input outside the union is still rejected", () =>
    Effect.gen(function* () {
      const client = yield* session(open, { version: "2025-11-25" })
      const result = yield* client.call("open", { kind: "file", url: "x:y" })
      assert.isTrue(result.isError)
      assert.include(result.content[0].text, "path")
    })
  )

  it.effect("Tools keep their registration order", () =>
    Effect.gen(function* () {
      const client = yield* session(Layer.mergeAll(plain, open, list), { version: "2025-11-25" })
      const { tools } = yield* client.request("tools/list")
      assert.deepStrictEqual(
        tools.map(({ name }: { readonly name: string }) => name),
        ["plain", "open", "list"]
      )
    })
  )

  it.effect("With portability off, schemas are listed unchanged", () =>
    Effect.gen(function* () {
      const { layer, messages } = collected()
      const client = yield* Effect.provide(
        session(Layer.merge(open, dotted), { version: "2025-11-25" }, { portability: "off" }),
        layer
      )
      const [tool] = (yield* client.request("tools/list")).tools
      assert.property(tool.inputSchema, "anyOf")
      assert.deepStrictEqual(messages, [])
    })
  )

  it.effect("A tool that cannot be projected is logged once, with the location and the fix", () =>
    Effect.gen(function* () {
      const { layer, messages } = collected()
      const program = Effect.gen(function* () {
        const client = yield* session(Layer.mergeAll(dotted, open, plain), { version: "2025-11-25" })
        yield* client.request("tools/list")
        yield* client.request("tools/list")
      })
      yield* Effect.provide(program, layer)
      assert.lengthOf(messages, 1)
      assert.match(
        messages[0] ?? "",
        /the tool "a\.b":\n {2}- name: .* refused by .*Claude Desktop.*\. Rename the tool\./
      )
    })
  )

  it.effect("With portability strict, the layer fails with every tool that cannot be projected", () =>
    Effect.gen(function* () {
      const options = { name: "test", version: "1.0.0", portability: "strict" } as const
      const built = (features: Layer.Layer<never, never, McpServer.Registries>) =>
        Effect.exit(Effect.scoped(Layer.build(McpServer.layer({ ...options, features }))))
      assert.isTrue(Exit.isSuccess(yield* built(Layer.merge(open, list))))
      const exit = yield* built(Layer.merge(dotted, plain))
      assert.isTrue(Exit.isFailure(exit))
      if (Exit.isSuccess(exit)) return
      const error = Cause.squash(exit.cause)
      assert.instanceOf(error, McpServer.NotPortable)
      assert.deepStrictEqual(
        error.tools.map(({ tool }) => tool),
        ["a.b"]
      )
    })
  )

  it.effect("A tool that is added to a running server is projected too", () =>
    Effect.gen(function* () {
      let registry: Tools.ToolRegistry["Service"] | undefined
      const features = Layer.effectDiscard(
        Effect.map(Tools.ToolRegistry, (service) => {
          registry = service
        })
      )
      const server = yield* serve({ features, dynamic: true })
      const client = yield* connect(server, { version: "2025-11-25" })
      if (registry === undefined) throw new Error("The registry was not built")
      yield* Layer.build(Layer.provide(open, Layer.succeed(Tools.ToolRegistry, registry)))
      const [tool] = (yield* client.request("tools/list")).tools
      assert.notProperty(tool.inputSchema, "anyOf")
    })
  )
})
