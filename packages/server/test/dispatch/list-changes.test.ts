/** How list changes are announced to sessions, listeners and other nodes. */
import { assert, describe, it } from "@effect/vitest"
import { ResourceRegistry } from "@effect-mcp/core/Resources"
import { Context, Effect, Exit, Logger, Scope } from "effect"
import * as ListChanges from "../../src/dispatch/ListChanges.ts"
import * as Features from "../../src/features/Features.ts"

/** The changes published to a bus, which rejects the first `refusals` of them. */
const forwarded = Effect.fnUntraced(function* (scope: Scope.Scope, refusals: number) {
  const published: Array<string> = []
  let left = refusals
  const bus = {
    subscribe: () => Effect.void,
    publish: (_topic: string, kind: string) => {
      if (left-- > 0) throw new Error("not connected")
      published.push(kind)
    }
  }
  const { features, registries } = yield* Scope.provide(Features.make(), scope)
  const info: any = { implementation: { name: "test" }, capabilities: () => ({}) }
  const options = { bus, features, info, sessions: new Set<never>(), listeners: new Set<never>() }
  yield* Scope.provide(ListChanges.forward(options), scope)
  return {
    published,
    change: Effect.andThen(
      Context.get(registries, ResourceRegistry).changed,
      Effect.promise(() => Promise.resolve())
    )
  }
})

describe("List changes", () => {
  it.effect("A change rejected by the bus is logged, and later changes are still published", () =>
    Effect.gen(function* () {
      const logged: Array<unknown> = []
      const logger = Logger.make(({ message }) => void logged.push(message))
      const { change, published } = yield* Effect.provide(
        Effect.flatMap(Effect.scope, (scope) => forwarded(scope, 1)),
        Logger.layer([logger])
      )
      yield* change
      yield* change
      assert.deepStrictEqual(published, ["resources"])
      assert.lengthOf(logged, 1)
    })
  )

  it.effect("A change made in the same turn as the server's shutdown is not published", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const { change, published } = yield* forwarded(scope, 0)
      yield* change
      const told = Effect.runFork(change)
      yield* Scope.close(scope, Exit.void)
      yield* Effect.promise(() => new Promise((resolve) => told.addObserver(resolve)))
      assert.deepStrictEqual(published, ["resources"])
    })
  )
})
