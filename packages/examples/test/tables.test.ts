/** How a user tests a server: the whole protocol in memory, in every revision, with test doubles for its services. */
import { Elicitation } from "@effect-mcp/core"
import { BookTable, features, Restaurant } from "@effect-mcp/examples/tables"
import { Revision } from "@effect-mcp/protocol"
import { McpTest } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Queue, Ref, Stream } from "effect"

/** A restaurant whose state the test can see. */
const restaurant = Effect.gen(function* () {
  const booked: Array<number> = []
  const menu = yield* Ref.make("Soup")
  const changes = yield* Queue.unbounded<string>()
  const layer = Layer.succeed(Restaurant, {
    reserve: (guests) => Effect.sync(() => `no. ${booked.push(guests)}`),
    menu: Ref.get(menu),
    newMenus: Stream.fromQueue(changes)
  })
  const serve = (dish: string) => Effect.andThen(Ref.set(menu, dish), Queue.offer(changes, dish))
  return { booked, layer, serve }
})

describe.each(Revision.withElicitation)("book_table over $version", (revision) => {
  it.effect("book_table books a table if the guest confirms", () =>
    Effect.gen(function* () {
      const { booked, layer } = yield* restaurant
      const tables = yield* Effect.provide(McpTest.connect(features, revision), layer)
      assert.deepStrictEqual(yield* tables.callTool(BookTable, { guests: 2 }), { reference: "no. 1" })
      assert.deepStrictEqual(booked, [2])
    }).pipe(Effect.provide(Elicitation.layerAccept()))
  )

  it.effect("book_table books nothing if the guest declines", () =>
    Effect.gen(function* () {
      const { booked, layer } = yield* restaurant
      const tables = yield* Effect.provide(McpTest.connect(features, revision), layer)
      const error = yield* Effect.flip(tables.callTool(BookTable, { guests: 2 }))
      assert.strictEqual(error._tag, "ToolFailure")
      assert.deepStrictEqual(booked, [])
    }).pipe(Effect.provide(Elicitation.layerDecline))
  )
})

describe.each(Revision.all)("Menu over $version", (revision) => {
  it.effect("The menu can be read and watched", () =>
    Effect.gen(function* () {
      const { layer, serve } = yield* restaurant
      const tables = yield* Effect.provide(McpTest.connect(features, revision), layer)
      const seen = yield* Queue.unbounded<string>()
      const watching = yield* tables.watchResource("menu://today").pipe(
        Stream.mapEffect(() => tables.readResourceText("menu://today")),
        Stream.runForEach((menu) => Queue.offer(seen, menu)),
        Effect.forkChild
      )
      assert.strictEqual(yield* Queue.take(seen), "Soup")
      yield* serve("Fish")
      assert.strictEqual(yield* Queue.take(seen), "Fish")
      yield* Fiber.interrupt(watching)
    })
  )
})
