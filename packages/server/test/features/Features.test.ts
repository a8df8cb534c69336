/** The features of a server: which registries there are, and when. */
import * as Prompt from "@effect-mcp/core/Prompt"
import * as Prompts from "@effect-mcp/core/Prompts"
import * as Resources from "@effect-mcp/core/Resources"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import { Principal, anonymous } from "@effect-mcp/core/Principal"
import * as Features from "@effect-mcp/server/internal/Features"
import * as Middleware from "@effect-mcp/server/Middleware"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"

const tool = Tools.layer(Tool.make("a", { description: "" }), () => Effect.succeed(""))
const prompt = Prompts.layer(Prompt.make("p"), () => Effect.succeed(""))
const resource = Resources.layer({ uri: "a:", name: "a" }, Effect.succeed(""))
const middleware = Middleware.layer((_request, next) => next)

const named = <A extends { readonly name: string }>(list: Effect.Effect<ReadonlyArray<A>, unknown, any>) =>
  Effect.map(Effect.provideService(list, Principal, anonymous), (items) => items.map(({ name }) => name))

describe("Features", () => {
  it.effect("A server of tools alone has no other registries", () =>
    Effect.gen(function* () {
      const features = yield* Features.build(tool)
      assert.isUndefined(features.others)
      assert.isFalse(features.tools.isEmpty())
    })
  )

  it.effect("Layers that load the other registries at the same time register in the same ones", () =>
    Effect.gen(function* () {
      const features = yield* Features.build(Layer.mergeAll(tool, prompt, resource, middleware))
      const others = features.others ?? assert.fail("nothing was registered")
      assert.deepStrictEqual(yield* named(others.prompts.list), ["p"])
      assert.deepStrictEqual(yield* named(others.resources.list), ["a"])
      const request: any = { method: "tools/list", params: {} }
      assert.isTrue(others.middleware.wraps("tools/list", request))
      assert.strictEqual(yield* features.open, others)
    })
  )

  it.effect("A listener hears of a list whose registry is made after it, until its scope closes", () =>
    Effect.gen(function* () {
      const features = yield* Features.build(tool)
      const heard: Array<string> = []
      const offer = Effect.scoped(
        Effect.andThen(Effect.provideContext(Layer.build(prompt), features.registries), Effect.void)
      )
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
