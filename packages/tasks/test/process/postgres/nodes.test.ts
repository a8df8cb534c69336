/**
 * Two nodes on one Postgres: a client of one node follows a task that the other runs. The clock stands still, so no node polls.
 */
import { Elicitation, Once, Progress } from "@effect-mcp/core"
import { Tasks } from "@effect-mcp/tasks"
import { needs } from "@effect-mcp/spec/skip"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Latch, Layer, Schema, Scope } from "effect"
import { TestClock } from "effect/testing"
import { connect, serve } from "../../support/client.ts"
import { connect as connect2025 } from "../../support/session.ts"
import { tool } from "../../support/tools.ts"
import { missing, open, schema } from "../../support/postgres.ts"

const turn = Effect.promise(() => new Promise<void>((resolve) => void setImmediate(resolve)))

const Name = Schema.Struct({ name: Schema.String })

/** A node with the features on the tables of a schema. */
const node = Effect.fnUntraced(function* (name: string, feature: (own: string) => Parameters<typeof serve>[0]) {
  const scope = yield* Effect.acquireRelease(Scope.make(), (scope, exit) => Scope.close(scope, exit))
  const { context, journal } = yield* Scope.provide(open(name, { lease: 3_600_000 }), scope)
  const tasks = Layer.provide(Tasks.layerStore({ drain: 0 }), Layer.succeedContext(context))
  const server = yield* Scope.provide(serve(Layer.merge(feature(journal.node), tasks)), scope)
  return { name: journal.node, server, end: Scope.close(scope, Exit.void) }
})

describe("Tasks on Postgres between two nodes", needs(missing === undefined, missing ?? ""), () => {
  it.effect("A task can be followed on a node other than the one running it", () =>
    Effect.gen(function* () {
      const name = yield* schema
      const [go, end] = [yield* Latch.make(false), yield* Latch.make(false)]
      const feature = () =>
        tool("greet", "optional", () =>
          Effect.gen(function* () {
            yield* go.await
            yield* Progress.report(1, { total: 2, message: "asks" })
            const { name } = yield* Elicitation.form("Your name?", Name, { key: "name" })
            yield* end.await
            return `Hello ${name}`
          })
        )
      const [a, b] = [yield* node(name, feature), yield* node(name, feature)]
      const here = yield* connect(a.server)
      const { taskId } = yield* here.call("greet")
      const there = yield* connect(b.server)
      const subscription = { notifications: { taskIds: [taskId] } }
      yield* Effect.forkChild(there.request("subscriptions/listen", subscription), { startImmediately: true })
      const states = () => there.notifications.flatMap(({ params }) => params?.status ?? [])
      const told = (status: string) => Effect.repeat(turn, { until: () => states().at(-1) === status })
      yield* told("working")
      const old = yield* connect2025(b.server)
      const waiting = yield* Effect.forkChild(old.result(taskId), { startImmediately: true })
      yield* go.open
      yield* told("input_required")
      yield* here.update(taskId, { name: { action: "accept", content: { name: "Ada" } } })
      yield* told("working")
      yield* end.open
      yield* told("completed")
      assert.deepStrictEqual((yield* Fiber.join(waiting))["content"], [{ type: "text", text: "Hello Ada" }])
      assert.deepStrictEqual([...new Set(states())], ["working", "input_required", "completed"])
    })
  )

  it.effect("A stopping node's task continues on another node before its next poll", () =>
    Effect.gen(function* () {
      const name = yield* schema
      const began: Array<string> = []
      const feature = (own: string) =>
        tool("slow", "optional", () =>
          Once.run(
            "step",
            Schema.String,
            Effect.suspend(() => (began.push(own) === 1 ? Effect.never : Effect.succeed(own)))
          )
        )
      const [a, b] = [yield* node(name, feature), yield* node(name, feature)]
      const { taskId } = yield* (yield* connect(a.server)).call("slow")
      yield* Effect.repeat(turn, { until: () => began.length === 1 })
      // The other node has polled, and waits for its next poll.
      yield* TestClock.adjust("1 second")
      yield* a.end
      yield* Effect.repeat(turn, { until: () => began.length === 2 })
      assert.deepStrictEqual(began, [a.name, b.name])
      const there = yield* connect(b.server)
      yield* Effect.repeat(there.get(taskId), { until: ({ status }) => status !== "working" })
      assert.strictEqual((yield* there.get(taskId))["result"].content[0].text, b.name)
    })
  )
})
