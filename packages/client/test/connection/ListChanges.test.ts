/** Changes of lists in 2026-07-28: one subscription for all streams of changes. */
import * as McpClient from "@effect-mcp/client/McpClient"
import * as McpError from "@effect-mcp/protocol/McpError"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Stream } from "effect"
import { quiesce } from "../support/connected.ts"
import * as Modern from "../support/modern.ts"
import { following } from "../support/watching.ts"

describe("List changes over 2026-07-28", () => {
  const lists = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true }

  it.effect("The first change stream opens a single subscription for all streams", () =>
    Effect.gen(function* () {
      const { client, next, opened, server } = yield* Modern.listening()
      yield* quiesce
      assert.strictEqual(server.requests("subscriptions/listen").length, 0)
      const tools = yield* following(client.toolChanges)
      const { filter, tell } = yield* next
      assert.deepStrictEqual(filter, lists)
      const prompts = yield* following(client.promptChanges)
      const resources = yield* following(client.resourceChanges)
      yield* quiesce
      assert.strictEqual(yield* opened, 0)
      tell("notifications/tools/list_changed")
      yield* tools.next
      tell("notifications/prompts/list_changed")
      yield* prompts.next
      tell("notifications/resources/list_changed")
      yield* resources.next
      for (const { waiting } of [tools, prompts, resources]) assert.strictEqual(yield* waiting, 0)
      yield* Fiber.interrupt(tools.fiber)
      yield* Fiber.interrupt(prompts.fiber)
      yield* client.ping
      assert.notInclude(Modern.methods(server), "notifications/cancelled")
      yield* Fiber.interrupt(resources.fiber)
      yield* server.notification
      const again = yield* following(client.toolChanges)
      ;(yield* next).tell("notifications/tools/list_changed")
      yield* again.next
    })
  )

  it.effect("Only list changes declared by the server are requested", () =>
    Effect.gen(function* () {
      const { client, next } = yield* Modern.listening({
        capabilities: { tools: { listChanged: true }, prompts: { listChanged: false }, resources: {} }
      })
      yield* following(client.toolChanges)
      assert.deepStrictEqual((yield* next).filter, { toolsListChanged: true })
    })
  )

  it.effect("No list changes arrive if the server declared none", () =>
    Effect.gen(function* () {
      const { client, server } = yield* Modern.listening({ capabilities: { tools: {} } })
      const tools = yield* following(client.toolChanges)
      yield* quiesce
      assert.strictEqual(server.requests("subscriptions/listen").length, 0)
      assert.isUndefined(tools.fiber.pollUnsafe())
      server.end()
      assert.isTrue(Exit.isSuccess(yield* Fiber.join(tools.fiber)))
    })
  )

  it.effect("Without reconnection, list changes end with the server's subscription and can be requested again", () =>
    Effect.gen(function* () {
      const { client, next } = yield* Modern.listening({ reconnect: false })
      const tools = yield* following(client.toolChanges)
      ;(yield* next).end()
      assert.isTrue(Exit.isSuccess(yield* Fiber.join(tools.fiber)))
      const again = yield* following(client.toolChanges)
      ;(yield* next).tell("notifications/tools/list_changed")
      yield* again.next
    })
  )

  it.effect("List changes end if the server rejects the subscription, with the reason in `dropped`", () =>
    Effect.gen(function* () {
      const refuse = () => Effect.fail(McpError.methodNotFound("subscriptions/listen"))
      const server = yield* Modern.make({ answers: { "subscriptions/listen": refuse } })
      const dropped: Array<string> = []
      const client = yield* McpClient.connect(server.transport, { dropped: (reason) => dropped.push(reason) })
      yield* Stream.runDrain(client.toolChanges)
      assert.isTrue(dropped.some((reason) => reason.includes("The server will not announce list changes")))
    })
  )
})
