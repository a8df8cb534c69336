/** How a user tests a server: the whole protocol in memory, in every revision, with doubles of what it needs. */
import { McpClient } from "@effect-mcp/client"
import { Elicitation, Memory } from "@effect-mcp/core"
import { BookTable, Restaurant, server } from "@effect-mcp/examples/tables"
import { Revision } from "@effect-mcp/protocol"
import { McpServer } from "@effect-mcp/server"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Fiber, Layer, Queue, Ref, Stream } from "effect"

/** A client of a server whose restaurant the test sees into. */
const open = Effect.fnUntraced(function* (revision: Revision.Revision) {
  const booked: Array<number> = []
  const menu = yield* Ref.make("Soup")
  const changes = yield* Queue.unbounded<string>()
  const restaurant = Layer.succeed(Restaurant, {
    reserve: (guests) => Effect.sync(() => `no. ${booked.push(guests)}`),
    menu: Ref.get(menu),
    newMenus: Stream.fromQueue(changes)
  })
  const services = yield* Layer.build(Layer.provide(server, restaurant))
  const [clientEnd, serverEnd] = yield* Memory.pair()
  yield* Context.get(services, McpServer.McpServer).connect(serverEnd)
  const tables = yield* McpClient.connect(clientEnd, { revisions: [revision.version] })
  const serve = (dish: string) => Effect.andThen(Ref.set(menu, dish), Queue.offer(changes, dish))
  return { booked, serve, tables }
})

const guest = (action: "accept" | "decline") =>
  Elicitation.Elicitation.layer({
    form: () => Effect.succeed(action === "accept" ? { action, content: {} } : { action })
  })

describe.each([...Revision.withElicitation])("book_table over $version", (revision) => {
  it.effect("books a table when the guest confirms", () =>
    Effect.gen(function* () {
      const { booked, tables } = yield* open(revision)
      assert.deepStrictEqual(yield* tables.call(BookTable, { guests: 2 }), { reference: "no. 1" })
      assert.deepStrictEqual(booked, [2])
    }).pipe(Effect.provide(guest("accept")))
  )

  it.effect("books nothing when the guest declines", () =>
    Effect.gen(function* () {
      const { booked, tables } = yield* open(revision)
      const error = yield* Effect.flip(tables.call(BookTable, { guests: 2 }))
      assert.strictEqual(error._tag, "ToolFailure")
      assert.deepStrictEqual(booked, [])
    }).pipe(Effect.provide(guest("decline")))
  )
})

describe.each([...Revision.all])("the menu over $version", (revision) => {
  it.effect("is read, and watched", () =>
    Effect.gen(function* () {
      const { serve, tables } = yield* open(revision)
      const seen = yield* Queue.unbounded<string>()
      const watching = yield* tables.watch("menu://today").pipe(
        Stream.mapEffect(() => tables.readText("menu://today")),
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
