/** The features of a server and the registries behind them. */
import * as Prompt from "@effect-mcp/core/Prompt"
import * as Prompts from "@effect-mcp/core/Prompts"
import * as Resources from "@effect-mcp/core/Resources"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import { Principal, anonymous } from "@effect-mcp/core/Principal"
import * as Features from "@effect-mcp/server/internal/Features"
import * as McpServer from "@effect-mcp/server/McpServer"
import * as Middleware from "@effect-mcp/server/Middleware"
import * as StateSeal from "@effect-mcp/server/StateSeal"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, ManagedRuntime, Redacted } from "effect"

const tool = Tools.layer(Tool.make("a", { description: "" }), () => Effect.succeed(""))
const prompt = Prompts.layer(Prompt.make("p"), () => Effect.succeed(""))
const resource = Resources.layer({ uri: "a:", name: "a" }, Effect.succeed(""))
const middleware = Middleware.layer((_request, next) => next)

const named = <A extends { readonly name: string }>(list: Effect.Effect<ReadonlyArray<A>, unknown, any>) =>
  Effect.map(Effect.provideService(list, Principal, anonymous), (items) => items.map(({ name }) => name))

describe("Features", () => {
  it.effect("Layers of every kind register with one set of features", () =>
    Effect.gen(function* () {
      const features = yield* Features.build(Layer.mergeAll(tool, prompt, resource, middleware))
      assert.isFalse(features.tools.isEmpty())
      assert.deepStrictEqual(yield* named(features.prompts.list), ["p"])
      assert.deepStrictEqual(yield* named(features.resources.list), ["a"])
      const request: any = { method: "tools/list", params: {} }
      assert.isTrue(features.middleware.wraps("tools/list", request))
    })
  )

  it.effect("A listener is notified of list changes until its scope closes", () =>
    Effect.gen(function* () {
      const { features, registries } = yield* Features.make()
      const heard: Array<string> = []
      const offer = Effect.scoped(Effect.andThen(Effect.provideContext(Layer.build(prompt), registries), Effect.void))
      yield* Effect.scoped(
        Effect.andThen(
          features.onChange("prompts", () => heard.push("prompts")),
          offer
        )
      )
      assert.deepStrictEqual(heard, ["prompts", "prompts"])
      yield* offer
      assert.lengthOf(heard, 2)
    })
  )
})

describe("The server layer", () => {
  it("The server layer builds synchronously with features of every kind", () => {
    const server = McpServer.layer({
      name: "sync",
      version: "1.0.0",
      features: Layer.mergeAll(tool, prompt, resource, middleware)
    })
    const runtime = ManagedRuntime.make(server)
    assert.strictEqual(runtime.runSync(Effect.map(McpServer.McpServer, ({ name }) => name)), "sync")
    const tools = runtime.runSync(
      Effect.scoped(
        Effect.flatMap(McpServer.McpServer, (running) =>
          Effect.map(running.contract(), ({ tools }) => tools.map(({ name }) => name))
        )
      )
    )
    assert.deepStrictEqual(tools, ["a"])
    return runtime.dispose()
  })

  it("The server layer builds synchronously with state-sealing keys", () => {
    const key = Redacted.make(new Uint8Array(32))
    assert.isFunction(Effect.runSync(Effect.provide(StateSeal.StateSeal, StateSeal.layer([{ id: "1", key }]))).seal)
  })
})
