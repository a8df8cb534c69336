/** Calls that became tasks in one process and are continued in another, over a SQLite file. */
import { Elicitation, Once } from "@effect-mcp/core"
import { Tasks } from "@effect-mcp/tasks"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer, Schema, Scope } from "effect"
import { TestClock } from "effect/testing"
import { connect, serve } from "../support/client.ts"
import { tool } from "../support/tools.ts"
import { file, open } from "../support/sqlite.ts"

const Name = Schema.Struct({ name: Schema.String })
const answer = (name: string) => ({ action: "accept", content: { name } })

describe("Continued calls", () => {
  it.effect("A call that asked before it became a task keeps its answers and steps", () =>
    Effect.gen(function* () {
      const path = yield* file
      let steps = 0
      const greet = tool(
        "greet",
        "optional",
        () =>
          Effect.gen(function* () {
            const count = yield* Once.run(
              "count",
              Schema.Int,
              Effect.sync(() => ++steps)
            )
            const { name } = yield* Elicitation.form("Your name?", Name, { key: "first" })
            yield* Tasks.begin
            const { name: other } = yield* Elicitation.form("The other name?", Name, { key: "second" })
            return `${name} and ${other} after ${count}`
          }),
        { beginsTask: true }
      )
      /** A process with its own store on the file, and its client. */
      const start = Effect.gen(function* () {
        const scope = yield* Effect.acquireRelease(Scope.make(), (scope, exit) => Scope.close(scope, exit))
        const { context } = yield* Scope.provide(open({ file: path }), scope)
        const tasks = Layer.provide(Tasks.layerStore(), Layer.succeedContext(context))
        const server = yield* Scope.provide(serve(Layer.merge(greet, tasks)), scope)
        return { client: yield* Scope.provide(connect(server), scope), end: Scope.close(scope, Exit.void) }
      })
      const first = yield* start
      const { requestState } = yield* first.client.call("greet")
      const inputResponses = { first: answer("Ada") }
      const { taskId } = yield* first.client.request("tools/call", {
        name: "greet",
        arguments: {},
        inputResponses,
        requestState
      })
      yield* first.end
      const second = yield* start
      yield* TestClock.adjust("1 second")
      const waiting = yield* second.client.get(taskId)
      assert.deepStrictEqual(Object.keys(waiting["inputRequests"]), ["second"])
      yield* second.end
      const third = yield* start
      yield* third.client.update(taskId, { second: answer("Bob") })
      yield* TestClock.adjust("1 second")
      const { result } = yield* third.client.get(taskId)
      assert.strictEqual(result?.content?.[0]?.text, "Ada and Bob after 1")
      assert.strictEqual(steps, 1)
    })
  )

  it.effect("A stopping server hands its task over after at most `drain`", () =>
    Effect.gen(function* () {
      const store = yield* open({ file: yield* file, lease: 3_600_000 })
      for (const [drain, seconds] of [
        ["10 seconds", 10],
        [0, 0]
      ] as const) {
        const began: Array<string> = []
        const started = Effect.fnUntraced(function* (own: string) {
          const step = Effect.andThen(
            Effect.sync(() => began.push(own)),
            Effect.sleep("1 minute")
          )
          const slow = tool("slow", "optional", () => Effect.as(Once.run("step", Schema.Void, step), own))
          const tasks = Layer.provide(Tasks.layerStore({ drain }), Layer.succeedContext(store.context))
          const scope = yield* Effect.acquireRelease(Scope.make(), (scope, exit) => Scope.close(scope, exit))
          const server = yield* Scope.provide(serve(Layer.merge(slow, tasks)), scope)
          return { client: yield* Scope.provide(connect(server), scope), scope }
        })
        const a = yield* started("a")
        const { taskId } = yield* a.client.call("slow")
        const b = yield* started("b")
        const closing = yield* Effect.forkChild(Scope.close(a.scope, Exit.void), { startImmediately: true })
        if (seconds > 0) yield* TestClock.adjust(seconds * 1000 - 1)
        assert.deepStrictEqual(began, ["a"])
        yield* TestClock.adjust("1 second")
        assert.isDefined(closing.pollUnsafe())
        assert.deepStrictEqual(began, ["a", "b"])
        yield* TestClock.adjust("1 minute")
        assert.strictEqual((yield* b.client.get(taskId))["result"].content[0].text, "b")
        yield* Scope.close(b.scope, Exit.void)
      }
    })
  )
})
