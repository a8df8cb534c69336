/** Calls that become tasks within middleware, compared with the same calls without it. */
import { Elicitation, Progress } from "@effect-mcp/core"
import * as Middleware from "@effect-mcp/server/Middleware"
import { quiesce } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as Tasks from "../../src/Tasks.ts"
import * as Client from "../support/client.ts"
import * as Session from "../support/session.ts"
import { tool } from "../support/tools.ts"

const tools = Layer.mergeAll(
  tool("text", "optional", () => Effect.succeed("Done")),
  tool("failing", "required", () => Effect.die(new Error("A defect"))),
  tool("step", "optional", () => Effect.sync(() => "Done")),
  tool("soon", "optional", () => Effect.as(Effect.yieldNow, "Done")),
  tool("reporting", "optional", () => Effect.as(Progress.report(1, { message: "Half" }), "Done")),
  tool("asking", "optional", () => Effect.as(Elicitation.confirm("Go on?"), "Done")),
  tool("open", "optional", () => Effect.never),
  tool("inline", undefined, () => Effect.succeed("Done"))
)
const names = ["text", "failing", "step", "soon", "reporting", "asking", "open"]
const around = Middleware.layer((_request, next) => next)

/** A text without ids and times. */
const bare = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value, (key, value) => (["taskId", "createdAt", "lastUpdatedAt"].includes(key) ? "same" : value))
  )

/** The messages that a client of 2025-11-25 receives when it calls each tool as a task. */
const seen2025 = Effect.fnUntraced(function* (features: Parameters<typeof Session.inMemory>[0]) {
  const client = yield* Session.inMemory(features)
  const seen: Array<unknown> = []
  for (const name of names) {
    const made = yield* client.request("tools/call", {
      name,
      arguments: {},
      task: { ttl: 60_000 },
      _meta: { progressToken: name }
    })
    yield* quiesce
    seen.push(name, made, yield* client.get(made["task"].taskId))
  }
  const refusals = yield* Effect.forEach(
    [
      { name: "text", arguments: {}, task: { ttl: "long" } },
      { name: "inline", arguments: {}, task: {} },
      { name: "unknown", arguments: {}, task: {} },
      // Two are open.
      { name: "text", arguments: {}, task: {} }
    ],
    (params) => client.refused("tools/call", params)
  )
  const errors = refusals.map(({ code, message }) => ({ code, message }))
  const asked = client.asked.map(({ method, params }) => ({ method, params }))
  return bare({ seen, errors, asked, notes: client.notes, order: client.order })
})

/** The same for 2026-07-28. */
const seen2026 = Effect.fnUntraced(function* (features: Parameters<typeof Session.inMemory>[0]) {
  const client = yield* Client.session(features)
  const seen: Array<unknown> = []
  for (const name of names) {
    const made = yield* client.call(name)
    yield* quiesce
    seen.push(name, made, yield* client.get(made["taskId"]))
  }
  const { code, message } = yield* client.refused("tools/call", { name: "text", arguments: {} })
  const inline = yield* client.call("inline")
  return bare({ seen, refusal: { code, message }, inline, notifications: client.notifications })
})

const limits = { perOwner: 2 }

describe("Calls that become tasks, with middleware", () => {
  it.effect("A 2025-11-25 call becomes the same task with and without middleware", () =>
    Effect.gen(function* () {
      const alone = yield* seen2025(Layer.merge(tools, Tasks.layer(limits)))
      assert.deepStrictEqual(alone, yield* seen2025(Layer.mergeAll(tools, around, Tasks.layer(limits))))
    })
  )

  it.effect("A 2026-07-28 call becomes the same task with and without middleware", () =>
    Effect.gen(function* () {
      const alone = yield* seen2026(Layer.merge(tools, Tasks.layer(limits)))
      assert.deepStrictEqual(alone, yield* seen2026(Layer.mergeAll(tools, around, Tasks.layer(limits))))
    })
  )
})
