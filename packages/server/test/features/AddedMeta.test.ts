/** `_meta` that extensions add to tools. */
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import { McpTest, quiesce } from "@effect-mcp/testing"
import { assert, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Layer, Scope, Stream } from "effect"

const Hello = Tool.make("hello", { description: "Greets", meta: { own: 1 } })
const hello = Tools.layer(Hello, () => Effect.succeed("Hello"))
const annotated = (meta: { readonly [key: string]: unknown }) =>
  Layer.effectDiscard(Effect.flatMap(Tools.ToolRegistry, ({ annotate }) => annotate("hello", meta)))

it.effect("Annotations add to a tool's own metadata, in any registration order", () =>
  Effect.gen(function* () {
    for (const features of [
      Layer.provideMerge(hello, annotated({ a: 1 })),
      Layer.provideMerge(annotated({ a: 1 }), hello)
    ]) {
      const client = yield* McpTest.connect(Layer.merge(features, annotated({ b: 2 })), "2026-07-28")
      const [tool] = yield* Stream.runCollect(client.listTools)
      assert.deepStrictEqual(tool?._meta, { own: 1, a: 1, b: 2 })
    }
  }).pipe(Effect.scoped)
)

it.effect("Closing an annotation's scope removes it and notifies clients", () =>
  Effect.gen(function* () {
    const registry = yield* Deferred.make<Tools.ToolRegistry["Service"]>()
    const reached = Layer.effectDiscard(
      Effect.flatMap(Tools.ToolRegistry, (service) => Deferred.succeed(registry, service))
    )
    const client = yield* McpTest.connect(Layer.merge(hello, reached), "2025-11-25")
    let changes = 0
    yield* Effect.forkScoped(
      Stream.runForEach(client.toolChanges, () => Effect.sync(() => void changes++)),
      { startImmediately: true }
    )
    const scope = yield* Scope.make()
    yield* Scope.provide((yield* Deferred.await(registry)).annotate("hello", { a: 1 }), scope)
    const metaOf = Effect.map(Stream.runCollect(client.listTools), ([tool]) => tool?._meta)
    assert.deepStrictEqual(yield* metaOf, { own: 1, a: 1 })
    yield* Scope.close(scope, Exit.void)
    assert.deepStrictEqual(yield* metaOf, { own: 1 })
    yield* quiesce
    assert.isAtLeast(changes, 1)
  }).pipe(Effect.scoped)
)
