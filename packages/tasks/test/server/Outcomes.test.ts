/** How tasks end, depending on their handlers. */
import { Principal, Tools } from "@effect-mcp/core"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Middleware from "@effect-mcp/server/Middleware"
import { quiesce } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as Tasks from "../../src/Tasks.ts"
import * as Session from "../support/session.ts"
import { tool } from "../support/tools.ts"

let called = 0
const cycle: { self?: unknown } = {}
cycle.self = cycle
const handlers: { readonly [name: string]: Parameters<typeof tool>[2] } = {
  text: () => Effect.succeed(`Call ${++called}`),
  failing: () => Effect.fail(new Tools.ToolFailure({ message: "No" })),
  refusing: () => Effect.fail(McpError.invalidParams("Not this", { data: 1 })),
  refusingWithACycle: () => Effect.fail(McpError.invalidParams("Not this", cycle)),
  refusingWithABigint: () => Effect.fail(McpError.invalidParams("Not this", { n: 1n })),
  dying: () => Effect.die(new Error("A defect")),
  throwing: () => {
    throw new Error("A defect")
  },
  interrupting: () => Effect.interrupt,
  long: () => Effect.succeed("a".repeat(1000)),
  step: () => Effect.sync(() => `Call ${++called}`)
}
const tools = Layer.mergeAll(
  tool("none", "optional", () => Effect.succeed("None")),
  ...Object.entries(handlers).map(([name, handler]) => tool(name, "optional", handler))
)

/** The result for the caller of each tool, without ids and times. */
const outcomes = Effect.fnUntraced(function* (features: Parameters<typeof Session.inMemory>[0]) {
  called = 0
  const client = yield* Session.inMemory(features)
  return yield* Effect.forEach(Object.keys(handlers), (name) =>
    Effect.gen(function* () {
      const { taskId } = yield* client.start(name)
      yield* quiesce
      const { status, statusMessage } = yield* client.get(taskId)
      const result = yield* Effect.catch(
        Effect.map(client.result(taskId), ({ content, isError }) => ({ content, isError })),
        (error) =>
          Effect.succeed(
            error._tag === "McpError" ? { code: error.code, message: error.message, data: error.data } : error
          )
      )
      const told = client.notes.filter(({ params }) => params.taskId === taskId).map(({ params }) => params.status)
      return { name, status, statusMessage, result, told }
    })
  )
})

describe("Task outcomes", () => {
  it.effect("A task ends like its handler and notifies its client once", () =>
    Effect.gen(function* () {
      const seen = yield* outcomes(Layer.merge(tools, Tasks.layer({ resultBytes: 500 })))
      assert.strictEqual(called, 2)
      assert.deepStrictEqual(
        seen.map(({ status }) => status),
        ["completed", ...Array.from({ length: 8 }, () => "failed"), "completed"]
      )
      assert.deepStrictEqual(
        seen.map(({ result }) => ("code" in result ? result.code : "isError" in result ? result.isError : result)),
        // An error whose data has no JSON form is a defect.
        [undefined, true, -32602, -32603, -32603, -32603, -32603, -31503, -31429, undefined]
      )
      assert.isTrue(seen.every(({ told }) => told.length === 1))
    })
  )

  it.effect("A handler runs as the principal provided by its execution middleware", () =>
    Effect.gen(function* () {
      const visible: NonNullable<Tools.Options["visible"]> = ({ subject }) => subject !== "eve"
      const hidden = tool("hidden", "optional", () => Effect.succeed("Seen"), { visible })
      const asEve = Middleware.on(
        "tools/call",
        (_request, next) =>
          Effect.provideService(next, Principal.Principal, { subject: "eve", scopes: [], claims: {} }),
        { tasks: "execution" }
      )
      const client = yield* Session.inMemory(Layer.mergeAll(hidden, asEve, Tasks.layer()))
      const { taskId } = yield* client.start("hidden")
      yield* quiesce
      assert.strictEqual((yield* client.get(taskId)).status, "failed")
    })
  )
})
