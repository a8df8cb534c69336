/** `McpCheck` accepts correct handlers and reports incorrect ones under every interpreter. */
import { Elicitation, Once, type RequestContext, Roots, Sampling, Tools } from "@effect-mcp/core"
import { ClientInput } from "@effect-mcp/core/ClientInput"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Middleware from "@effect-mcp/server/Middleware"
import { Tasks } from "@effect-mcp/tasks"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Effect, Exit, Latch, Layer, Ref, Schema } from "effect"
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
/** Opens when the user has been asked. */
class Asked extends Context.Service<Asked, Latch.Latch>()("test/Asked") {
  static readonly layer = Layer.effect(Asked, Latch.make())
}
const step = (name: string) => Once.run(name, Schema.Finite, count)

describe("McpCheck.interpreters", () => {
  it.effect("`McpCheck` accepts a handler that asks in sequence, concurrently and between steps", () =>
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

  it.effect("`McpCheck` accepts typed failures of the handler, the user and an incapable client", () =>
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

  it.effect("`McpCheck` accepts a tool call instead of a handler", () =>
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

  it.effect("`McpCheck` runs the handler as a task of both generations and with `begin`", () =>
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
          // Two rounds, and then the task.
          ["begun", 3]
        ]
      )
      for (const { exit, steps } of runs) {
        assert.deepStrictEqual(exit, Exit.succeed([1, "a", 2]))
        assert.deepStrictEqual(steps, ["hold", "pay"])
      }
    })
  )

  it.effect("`McpCheck` runs the handler as a task followed through tools", () =>
    Effect.gen(function* () {
      const handler = Effect.gen(function* () {
        const held = yield* step("hold")
        const name = yield* ask("a")
        yield* Effect.yieldNow
        return [held, name, yield* ask("b"), yield* step("pay")]
      })
      // Answered with a handle immediately, or with the result.
      for (const handles of [{ answerWithin: 0 }, true] as const) {
        const runs = yield* McpCheck.interpreters(handler, world, { tasks: Tasks.layer({ handles }) })
        assert.deepStrictEqual(
          runs.slice(-2).map(({ interpreter, rounds }) => [interpreter, rounds]),
          [
            ["handles 2025-11-25", 1],
            ["handles 2026-07-28", 1]
          ]
        )
        for (const { exit, steps } of runs) {
          assert.deepStrictEqual(exit, Exit.succeed([1, "a", "b", 2]))
          assert.deepStrictEqual(steps, ["hold", "pay"])
        }
      }
    })
  )

  it.effect("`McpCheck` cancels a task followed through tools", () =>
    Effect.gen(function* () {
      const never = Layer.unwrap(
        Effect.map(Asked, ({ open }) => Elicitation.layer({ form: () => Effect.andThen(open, Effect.never) }))
      )
      const runs = yield* McpCheck.interpreters(ask("a"), Layer.provideMerge(never, Asked.layer), {
        tasks: Tasks.layer({ handles: { answerWithin: 0 } }),
        cancel: Effect.flatMap(Asked, (asked) => asked.await)
      })
      assert.strictEqual(runs.length, 8)
      for (const { exit } of runs) assert.isTrue(Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause))
    })
  )

  it.effect("`McpCheck` detects a handler whose result differs as a task", () =>
    Effect.gen(function* () {
      const handler = Effect.map(ClientInput, ({ task }) => task !== undefined)
      const found = yield* Effect.flip(McpCheck.interpreters(handler, Layer.empty, { tasks: Tasks.layer() }))
      assert(found._tag === "Mismatch")
      assert.match(found.message, /true.*task 2025-11-25/s)
    })
  )

  it.effect("`McpCheck` detects a server whose tasks lose their results", () =>
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
    ["asks a different question every time", Effect.flatMap(count, (n) => ask(`a${n}`)), /a1|rounds/],
    [
      "takes different steps every time",
      Effect.andThen(
        Effect.flatMap(count, (n) => step(`s${n}`)),
        ask("a")
      ),
      /s1|steps/
    ],
    ["asks the same question twice at once", Effect.all([ask("a"), ask("a")], { concurrency: "unbounded" }), /key/],
    ["asks inside a step", Once.run("ask", Schema.String, ask("a")), /question inside a step/]
  ]
  for (const [what, handler, message] of broken) {
    it.effect(`\`McpCheck\` detects a handler that ${what}`, () =>
      Effect.gen(function* () {
        const found = yield* Effect.flip(McpCheck.interpreters(handler, world))
        assert(found._tag === "Mismatch")
        assert.match(found.message, message)
        assert.strictEqual(found.runs.length, 3)
      })
    )
  }

  it.effect("A step name used twice fails in every interpreter", () =>
    Effect.gen(function* () {
      const runs = yield* McpCheck.interpreters(Effect.all([step("same"), step("same")]), world)
      assert.deepStrictEqual(
        runs.map(({ exit }) => exit._tag),
        ["Failure", "Failure", "Failure"]
      )
    })
  )

  it.effect("`McpCheck` fails if the world fails to build", () =>
    Effect.gen(function* () {
      const nowhere = Layer.effect(Counter, Effect.fail("no database" as const))
      assert.strictEqual(yield* Effect.flip(McpCheck.interpreters(count, nowhere)), "no database")
    })
  )
})
