/** Calls that are answered within their request if they end soon, and calls whose task is not their answer. */
import { CancelReason, Elicitation, Progress, Tools } from "@effect-mcp/core"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Middleware from "@effect-mcp/server/Middleware"
import { quiesce } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Exit, Fiber, Layer, Schema } from "effect"
import { TestClock } from "effect/testing"
import * as Tasks from "../../src/Tasks.ts"
import * as Memory from "../../src/store/memory.ts"
import { TaskStore } from "../../src/store/TaskStore.ts"
import * as Client from "../support/client.ts"
import * as Session from "../support/session.ts"
import { tool } from "../support/tools.ts"

const taskAfter = "1 second"
const confirm = Elicitation.form("Sure?", Schema.Struct({ ok: Schema.Boolean }), { key: "sure" })
/** A tool that ends after the given milliseconds. */
const slow = (millis: number, options: Tools.Options = { taskAfter }, task: "optional" | "required" = "optional") =>
  tool("slow", task, () => Effect.as(Effect.sleep(millis), "Done"), options)
const start = <A, E, R>(call: Effect.Effect<A, E, R>) => Effect.forkChild(call, { startImmediately: true })

describe("Calls with `taskAfter`", () => {
  it.effect("A call that ends within `taskAfter` returns its result, even if the store forgets the task", () =>
    Effect.gen(function* () {
      const stores = yield* Layer.build(Memory.layer())
      const forgetful = TaskStore.of({ ...Context.get(stores, TaskStore), get: () => Effect.succeedNone })
      const tasks = Layer.provide(Tasks.layerStore(), Layer.succeedContext(Context.add(stores, TaskStore, forgetful)))
      const client = yield* Client.session(Layer.merge(slow(10), tasks))
      const call = yield* start(client.call("slow"))
      yield* TestClock.adjust(10)
      assert.deepStrictEqual((yield* Fiber.join(call))["content"], [{ type: "text", text: "Done" }])
    })
  )

  it.effect("A call is answered with its task only if it takes longer than `taskAfter`", () =>
    Effect.gen(function* () {
      let runs = 0
      const counted = tool("slow", "optional", () => Effect.as(Effect.sleep(++runs === 1 ? 999 : 1500), `${runs}`), {
        taskAfter
      })
      const client = yield* Client.session(Layer.merge(counted, Tasks.layer()))
      const quick = yield* start(client.call("slow"))
      yield* TestClock.adjust(998)
      assert.isUndefined(quick.pollUnsafe())
      yield* TestClock.adjust(1)
      const { content, resultType } = yield* Fiber.join(quick)
      assert.deepStrictEqual([resultType, content], ["complete", [{ type: "text", text: "1" }]])
      const long = yield* start(client.call("slow"))
      yield* TestClock.adjust(1000)
      const { resultType: type, taskId } = yield* Fiber.join(long)
      assert.strictEqual(type, "task")
      yield* TestClock.adjust(500)
      assert.deepStrictEqual((yield* client.get(taskId))["result"].content, [{ type: "text", text: "2" }])
      assert.strictEqual(runs, 2)
    })
  )

  it.effect("A call with `taskAfter` fails like a plain call", () =>
    Effect.gen(function* () {
      const broken = tool("broken", "optional", () => new Tools.ToolFailure({ message: "No" }), { taskAfter })
      const error = new McpError.McpError({ code: -31_000, message: "Never", data: { why: 1 } })
      const refusing = tool("refusing", "optional", () => Effect.fail(error), { taskAfter })
      const client = yield* Client.session(Layer.mergeAll(broken, refusing, Tasks.layer()))
      const failure = yield* client.call("broken")
      assert.deepInclude(failure, { isError: true, resultType: "complete" })
      assert.deepInclude(yield* client.refused("tools/call", { name: "refusing" }), {
        code: -31_000,
        message: "Never",
        data: { why: 1 }
      })
    })
  )

  it.effect("A call with `taskAfter` becomes its task as soon as its handler asks", () =>
    Effect.gen(function* () {
      const asking = tool(
        "ask",
        "optional",
        () =>
          Effect.andThen(
            Progress.report(1, { message: "asking" }),
            Effect.map(confirm, ({ ok }) => String(ok))
          ),
        { taskAfter }
      )
      const client = yield* Client.session(Layer.merge(asking, Tasks.layer()))
      const { resultType, status, taskId } = yield* client.call("ask")
      assert.deepStrictEqual([resultType, status], ["task", "input_required"])
      yield* client.update(taskId, { sure: { action: "accept", content: { ok: true } } })
      yield* quiesce
      assert.strictEqual((yield* client.get(taskId))["result"].content[0].text, "true")
    })
  )

  it.effect("Cancelling a call with `taskAfter` ends its handler", () =>
    Effect.gen(function* () {
      const reason = yield* Deferred.make<string | undefined>()
      const waiting = tool(
        "wait",
        "optional",
        () =>
          Effect.onExit(Effect.never, (exit) =>
            Deferred.succeed(reason, Exit.isFailure(exit) ? CancelReason.of(exit.cause) : "none")
          ),
        { taskAfter }
      )
      const client = yield* Client.session(Layer.merge(waiting, Tasks.layer({ perOwner: 1 })))
      const call = yield* start(client.call("wait"))
      yield* quiesce
      yield* Fiber.interrupt(call)
      assert.strictEqual(yield* Deferred.await(reason), "The task was cancelled")
    })
  )

  it.effect("`taskAfter` is ignored by task-only tools and in 2025-11-25", () =>
    Effect.gen(function* () {
      const only = yield* Client.session(Layer.merge(slow(10, { taskAfter }, "required"), Tasks.layer()))
      assert.strictEqual((yield* only.call("slow"))["resultType"], "task")
      const session = yield* Session.inMemory(Layer.merge(slow(10), Tasks.layer()))
      assert.strictEqual((yield* session.start("slow"))["status"], "working")
    })
  )

  it.effect("Tasks of calls that ended within `taskAfter` are forgotten first", () =>
    Effect.gen(function* () {
      const client = yield* Client.session(Layer.merge(slow(0), Tasks.layer({ kept: 4 })))
      for (let n = 0; n < 20; n++) {
        const call = yield* start(client.call("slow"))
        yield* TestClock.adjust(1)
        assert.strictEqual((yield* Fiber.join(call))["resultType"], "complete")
      }
    })
  )
})

describe.each(["2025-11-25", "2026-07-28"] as const)("%s calls that are not answered with their task", (version) => {
  /** A server whose middleware runs a step after the task was created, and a client that calls with a task. */
  const after = Effect.fnUntraced(function* (then: Effect.Effect<never, McpError.McpError>) {
    const ended = yield* Deferred.make<void>()
    const wait = tool("wait", "optional", () => Effect.ensuring(Effect.never, Deferred.succeed(ended, undefined)))
    const late = Middleware.on("tools/call", (_, next) => Effect.andThen(next, then))
    const features = Layer.mergeAll(wait, late, Tasks.layer())
    const start =
      version === "2025-11-25"
        ? Effect.map(Session.inMemory(features), (client) => client.start("wait"))
        : Effect.map(Client.session(features), (client) => client.call("wait"))
    return { call: yield* start, ended: Deferred.await(ended) }
  })

  it.effect("Cancelling a call after its task was created cancels the task", () =>
    Effect.gen(function* () {
      const { call, ended } = yield* after(Effect.never)
      const fiber = yield* start(call)
      yield* quiesce
      yield* Fiber.interrupt(fiber)
      yield* ended
    })
  )

  it.effect("A call rejected by middleware after its task was created cancels the task", () =>
    Effect.gen(function* () {
      const { call, ended } = yield* after(McpError.forbidden("Too late"))
      assert.deepInclude(yield* Effect.flip(call), { message: "Too late" })
      yield* ended
    })
  )
})
