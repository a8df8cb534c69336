/** Questions over a wire that names no request (stdio): none is lost with a call that it did not belong to. */
import { Elicitation, Memory, Tool, Tools } from "@effect-mcp/core"
import * as Revision from "@effect-mcp/protocol/Revision"
import * as McpServer from "@effect-mcp/server/McpServer"
import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Fiber, Layer, Queue, Schema } from "effect"
import * as Gateway from "../src/Gateway.ts"
import { join } from "./support/gateway.ts"

describe.each(["2025-11-25", "2026-07-28"] as const)("Questions of newer calls, from a %s client", (version) => {
  it.effect("A newer call's question that was sent with an older call is asked again", () =>
    Effect.gen(function* () {
      const running = yield* Deferred.make<void>()
      const end = yield* Deferred.make<void>()
      const tools = Layer.mergeAll(
        Tools.layer(Tool.make("older", { description: "Runs until it is told to end." }), () =>
          Effect.as(Effect.andThen(Deferred.succeed(running, undefined), Deferred.await(end)), "ended")
        ),
        Tools.layer(Tool.make("newer", { description: "Asks." }), () =>
          Effect.map(Elicitation.form("Who?", Schema.Struct({ name: Schema.String })), ({ name }) => name)
        )
      )
      const behind = Context.get(
        yield* Layer.build(McpServer.layer({ name: "behind", version: "0", features: tools })),
        McpServer.McpServer
      )
      const connector = Effect.gen(function* () {
        const [client, server] = yield* Memory.pair()
        yield* behind.connect(server)
        return client
      })
      const asked = yield* Queue.unbounded<string>()
      let times = 0
      const user = Elicitation.layer({
        form: ({ message }) =>
          Effect.gen(function* () {
            yield* Queue.offer(asked, message)
            // The first user never answers, so the question is still open when the older call ends.
            if (++times === 1) return yield* Effect.never
            return { action: "accept", content: { name: "Ada" } } as const
          })
      })
      const body = Effect.gen(function* () {
        const client = yield* Effect.provide(join(Revision.get(version)!), user)
        const older = yield* Effect.forkChild(client.callToolByName("older"))
        yield* Deferred.await(running)
        const newer = yield* Effect.forkChild(client.callToolByName("newer"))
        assert.strictEqual(yield* Queue.take(asked), "Who?")
        yield* Deferred.succeed(end, undefined)
        const { content } = yield* Fiber.join(newer)
        assert.deepStrictEqual(content, [{ type: "text", text: "Ada" }])
        assert.strictEqual(times, 2)
        yield* Fiber.interrupt(older)
      })
      yield* Effect.provide(Effect.scoped(body), Gateway.layer({ connector, client: { revisions: ["2025-11-25"] } }))
    })
  )
})
