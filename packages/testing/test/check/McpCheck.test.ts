/** The check of handlers under every interpreter: what it lets pass, and what it finds. */
import { Elicitation, Once, type RequestContext, Roots, Sampling, Tools } from "@effect-mcp/core"
import { ClientInput } from "@effect-mcp/core/ClientInput"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Middleware from "@effect-mcp/server/Middleware"
import { Tasks } from "@effect-mcp/tasks"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Ref, Schema } from "effect"
import * as McpCheck from "../../src/check/McpCheck.ts"
import { Bookings, BookTable, features } from "../features.ts"

const Name = Schema.Struct({ name: Schema.String })
const user = Elicitation.layer({
  form: ({ message }) => Effect.succeed({ action: "accept", content: { name: message } })
})
const ask = (message: string) => Effect.map(Elicitation.form(message, Name), ({ name }) => name)
class Counter extends Context.Service<Counter, Ref.Ref<number>>()("test/Counter") {
  static readonly layer = Layer.effect(Counter, Ref.make(0))
}
const count = Effect.flatMap(
  Counter,
  Ref.updateAndGet((n) => n + 1)
)
const world = Layer.merge(user, Counter.layer)
const step = (name: string) => Once.run(name, Schema.Finite, count)

describe("McpCheck.interpreters", () => {
  it.effect("`McpCheck` lets a handler pass that asks in a row, at once, and takes steps in between", () =>
    Effect.gen(function* () {
      const handler = Effect.gen(function* () {
        const held = yield* step("hold")
        const names = yield* Effect.all([ask("a"), ask("b")], { concurrency: "unbounded" })
        const paid = yield* step("pay")
        return { held, paid, names: [...names, yield* ask("c")], thanked: yield* step("thank") }
      })
      const runs = yield* McpCheck.interpreters(handler, world)
      assert.deepStrictEqual(
        runs.map(({ interpreter, rounds, steps }) => [interpreter, rounds, steps.join()]),
        [
          ["remote", 1, "hold,pay,thank"],
          ["replay", 3, "hold,pay,thank"],
          ["strict", 5, "hold,pay,thank"]
        ]
      )
      for (const { exit } of runs) {
        assert.deepStrictEqual(exit, Exit.succeed({ held: 1, paid: 2, names: ["a", "b", "c"], thanked: 3 }))
      }
    })
  )

  it.effect(
    "`McpCheck` lets typed failures pass: of the handler, of the user, of a client that lacks a capability",
    () =>
      Effect.gen(function* () {
        const failing = [
          [Effect.andThen(ask("a"), Effect.fail(new Tools.ToolFailure({ message: "no" }))), user],
          [ask("a"), Elicitation.layerDecline],
          [ask("a"), Elicitation.layerCancel],
          [Sampling.createMessage({ messages: [], maxTokens: 1 }), user],
          [Roots.list, user]
        ] as const
        for (const [handler, world] of failing) {
          const handled: Effect.Effect<unknown, unknown, Elicitation.Elicitation | Sampling.Sampling | Roots.Roots> =
            handler
          const runs = yield* McpCheck.interpreters(handled, world)
          for (const { exit } of runs) assert.isTrue(Exit.isFailure(exit) && exit.cause.reasons[0]?._tag === "Fail")
        }
      })
  )

  it.effect("`McpCheck` takes a call of a tool for a handler", () =>
    Effect.gen(function* () {
      const booking = McpCheck.call(features, BookTable, { restaurant: "Maaemo", guests: 2 })
      const runs = yield* McpCheck.interpreters(booking, Layer.merge(Bookings.layerTest, Elicitation.layerAccept()))
      for (const { exit } of runs) {
        assert(Exit.isSuccess(exit))
        assert.deepStrictEqual(exit.value.structuredContent, { reference: "ref-1" })
      }
      const declined = yield* McpCheck.interpreters(booking, Layer.merge(Bookings.layerTest, Elicitation.layerDecline))
      for (const { exit } of declined) assert.isTrue(Exit.isSuccess(exit) && exit.value.isError === true)
    })
  )

  it.effect("`McpCheck` runs the handler as a task of both generations, and as a task that it begins itself", () =>
    Effect.gen(function* () {
      const handler = Effect.gen(function* () {
        const held = yield* step("hold")
        const name = yield* ask("a")
        yield* Tasks.begin
        return [held, name, yield* step("pay")]
      })
      const runs = yield* McpCheck.interpreters(handler, world, { tasks: Tasks.layer() })
      assert.deepStrictEqual(
        runs.map(({ interpreter, rounds }) => [interpreter, rounds]),
        [
          ["remote", 1],
          ["replay", 2],
          ["strict", 3],
          ["task 2025-11-25", 1],
          ["task 2026-07-28", 1],
          // Two rounds until it begins, then the task.
          ["begun", 3]
        ]
      )
      for (const { exit, steps } of runs) {
        assert.deepStrictEqual(exit, Exit.succeed([1, "a", 2]))
        assert.deepStrictEqual(steps, ["hold", "pay"])
      }
    })
  )

  it.effect("`McpCheck` finds a handler with another result as a task", () =>
    Effect.gen(function* () {
      const handler = Effect.map(ClientInput, ({ task }) => task !== undefined)
      const found = yield* Effect.flip(McpCheck.interpreters(handler, Layer.empty, { tasks: Tasks.layer() }))
      assert(found._tag === "Mismatch")
      assert.match(found.message, /true.*task 2025-11-25/s)
    })
  )

  it.effect("`McpCheck` finds a server whose tasks lose their results", () =>
    Effect.gen(function* () {
      const losing = Middleware.layer((request, next) =>
        request.method === "tools/call" ? Effect.andThen(next, Effect.fail(McpError.internalError("lost"))) : next
      )
      const tasks = Layer.merge(Tasks.layer(), losing)
      const found = yield* Effect.flip(McpCheck.interpreters(Effect.void, Layer.empty, { tasks }))
      assert(found._tag === "Mismatch")
      assert.match(found.message, /call failed.*lost/s)
    })
  )

  type Handler = Effect.Effect<unknown, unknown, Counter | RequestContext.RequestServices>
  const broken: ReadonlyArray<readonly [what: string, handler: Handler, message: RegExp]> = [
    ["acts before it asks", Effect.tap(count, () => ask("a")), /2/],
    ["asks another thing every time", Effect.flatMap(count, (n) => ask(`a${n}`)), /a1|rounds/],
    [
      "takes other steps every time",
      Effect.andThen(
        Effect.flatMap(count, (n) => step(`s${n}`)),
        ask("a")
      ),
      /s1|steps/
    ],
    ["asks the same twice at once", Effect.all([ask("a"), ask("a")], { concurrency: "unbounded" }), /key/],
    ["asks inside a step", Once.run("ask", Schema.String, ask("a")), /step must not ask/],
    ["takes two steps of one name", Effect.all([step("same"), step("same")]), /same/]
  ]
  for (const [what, handler, message] of broken) {
    it.effect(`\`McpCheck\` finds a handler that ${what}`, () =>
      Effect.gen(function* () {
        const found = yield* Effect.flip(McpCheck.interpreters(handler, world))
        assert(found._tag === "Mismatch")
        assert.match(found.message, message)
        assert.strictEqual(found.runs.length, 3)
      })
    )
  }

  it.effect("`McpCheck` fails as the world fails to be built", () =>
    Effect.gen(function* () {
      const nowhere = Layer.effect(Counter, Effect.fail("no database" as const))
      assert.strictEqual(yield* Effect.flip(McpCheck.interpreters(count, nowhere)), "no database")
    })
  )
})
