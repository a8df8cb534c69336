/** The front page's example `book_table` in every revision: the number of messages, and that nothing is booked twice. */
import { Elicitation, Memory, Once, Progress, Tool, Tools } from "@effect-mcp/core"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as Revision from "@effect-mcp/protocol/Revision"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import * as McpTest from "../src/McpTest.ts"
import { Bookings, BookTable, features } from "./features.ts"

/** A wire that counts the messages the client sends, by method. */
const counted = () => {
  const sent: Array<JsonRpc.Request> = []
  const wire = Effect.map(Memory.pair(), ([near, far]) => {
    const send: typeof near.sink.send = (message, lane, relatedTo) => {
      for (const each of Array.isArray(message) ? message : [message]) if (JsonRpc.isRequest(each)) sent.push(each)
      near.sink.send(message, lane, relatedTo)
    }
    return [{ ...near, sink: { ...near.sink, send } }, far] as const
  })
  const calls = () => sent.filter(({ method }) => method === "tools/call")
  return { wire, calls }
}

/** The tool with a second question for the name, and a step before each question. */
const Order = Tool.make("order", { description: "Orders for a guest.", output: { reference: Schema.String } })
const order = Tools.layer(
  Order,
  Effect.fnUntraced(function* () {
    const bookings = yield* Bookings
    const book = (name: string) => Once.run(name, Schema.String, bookings.reserve(name))
    const held = yield* book("hold a table")
    yield* Progress.report(1, { total: 2 })
    const { name } = yield* Elicitation.form("Who orders?", Schema.Struct({ name: Schema.String }))
    const ordered = yield* book(`order for ${name}`)
    yield* Elicitation.confirm("Pay now?")
    return { reference: [held, ordered, yield* bookings.reserve(`pay for ${name}`)].join() }
  })
)
const guest = Elicitation.layer({
  form: ({ requestedSchema }) =>
    Effect.succeed({ action: "accept", content: requestedSchema.properties.name === undefined ? {} : { name: "Ada" } })
})

describe.each(Revision.withElicitation)("book_table in $version", (revision) => {
  const stateless = revision.era === "stateless"

  it.effect(
    "book_table takes one call, plus one for each question in rounds",
    () =>
      Effect.gen(function* () {
        const { calls, wire } = counted()
        const tables = yield* McpTest.connect(features, revision, { wire })
        const { reference } = yield* tables.callTool(BookTable, { restaurant: "Maaemo", guests: 2 })
        assert.strictEqual(reference, "ref-1")
        assert.deepStrictEqual(yield* (yield* Bookings).made, ["Maaemo"])
        assert.strictEqual(calls().length, stateless ? 2 : 1)
        const [first, second] = calls()
        if (second === undefined) return
        assert.notStrictEqual(first?.id, second.id)
        assert.isString(second.params?.requestState)
        assert.deepStrictEqual(
          [second.params?.name, second.params?.arguments],
          [first?.params?.name, first?.params?.arguments]
        )
      }).pipe(Effect.provide([Bookings.layerTest, guest])),
    stateless ? verifies("mrtr.client.state-echoed", "mrtr.client.new-id") : {}
  )

  it.effect("book_table books no table if the guest declines or dismisses", () =>
    Effect.gen(function* () {
      for (const user of [Elicitation.layerDecline, Elicitation.layerCancel]) {
        const { calls, wire } = counted()
        const tables = yield* Effect.provide(McpTest.connect(features, revision, { wire }), user)
        const error = yield* Effect.flip(tables.callTool(BookTable, { restaurant: "Maaemo", guests: 2 }))
        assert.strictEqual(error._tag, "ToolFailure")
        assert.strictEqual(calls().length, stateless ? 2 : 1)
      }
      assert.deepStrictEqual(yield* (yield* Bookings).made, [])
    }).pipe(Effect.provide(Bookings.layerTest))
  )

  it.effect("A tool with several questions does its work once, in order", () =>
    Effect.gen(function* () {
      const { calls, wire } = counted()
      const client = yield* McpTest.connect(order, revision, { wire })
      const { reference } = yield* client.callTool(Order, {})
      assert.strictEqual(reference, "ref-1,ref-2,ref-3")
      assert.deepStrictEqual(yield* (yield* Bookings).made, ["hold a table", "order for Ada", "pay for Ada"])
      assert.strictEqual(calls().length, stateless ? 3 : 1)
    }).pipe(Effect.provide([Bookings.layerTest, guest]))
  )

  it.effect("book_table does not ask a client without the capability", () =>
    Effect.gen(function* () {
      const { calls, wire } = counted()
      const tables = yield* McpTest.connect(features, revision, { wire })
      const error = yield* Effect.flip(tables.callTool(BookTable, { restaurant: "Maaemo", guests: 2 }))
      assert.strictEqual(error._tag, stateless ? "McpError" : "ToolFailure")
      assert.match(error.message, /elicitation/)
      assert.strictEqual(calls().length, 1)
      assert.deepStrictEqual(yield* (yield* Bookings).made, [])
    }).pipe(Effect.provide(Bookings.layerTest))
  )
})

const without = Revision.all.filter((revision) => !Revision.withElicitation.includes(revision))
describe.each(without)("book_table in $version", (revision) => {
  it.effect("book_table fails with a typed error in a revision without forms", () =>
    Effect.gen(function* () {
      const tables = yield* McpTest.connect(features, revision)
      const error = yield* Effect.flip(tables.callTool(BookTable, { restaurant: "Maaemo", guests: 2 }))
      assert.strictEqual(error._tag, "ToolFailure")
      assert.match(error.message, /elicitation/)
      assert.deepStrictEqual(yield* (yield* Bookings).made, [])
    }).pipe(Effect.provide([Bookings.layerTest, guest]))
  )
})

it.effect("One features value serves every revision concurrently", () =>
  Effect.gen(function* () {
    const clients = yield* Effect.forEach(Revision.withElicitation, (revision) => McpTest.connect(features, revision))
    const booked = yield* Effect.forEach(
      clients,
      (client, i) => client.callTool(BookTable, { restaurant: `r${i}`, guests: 2 }),
      { concurrency: "unbounded" }
    )
    assert.strictEqual(new Set(booked.map(({ reference }) => reference)).size, clients.length)
    assert.deepStrictEqual((yield* (yield* Bookings).made).toSorted(), ["r0", "r1", "r2"])
  }).pipe(Effect.provide(Layer.merge(Bookings.layerTest, guest)))
)
