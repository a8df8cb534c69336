/** The first requests of the stateless era: they wait until its module is loaded. */
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as McpServer from "@effect-mcp/server/McpServer"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Layer, Scope } from "effect"
import { vi } from "vitest"
import { join, metaOf } from "../../support/modern.ts"
import { quiesce, serve } from "../../support/raw.ts"

/** The module is missing when it is first imported; later imports wait for the gate. */
const module = vi.hoisted(() => ({ imports: 0, gate: Promise.withResolvers<void>() }))
vi.mock("../../../src/dispatch/RareParts.ts", async (original) => {
  if (module.imports++ === 0) throw new Error("There is no such module")
  await module.gate.promise
  return await original()
})

const called: Array<string> = []
const tool = (name: string) =>
  Tools.layer(Tool.make(name, { description: "" }), () => Effect.sync(() => `${called.push(name)}`))
const features = Layer.mergeAll(tool("a"), tool("b"), tool("c"), tool("d"), tool("e"))
const call = (id: number, name: string): JsonRpc.Request => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name, arguments: {}, _meta: metaOf() }
})

describe("The first requests of the stateless era", () => {
  it.effect(
    "A failed import fails its request alone, and requests that wait for the next import are cancelled and interrupted",
    () =>
      Effect.gen(function* () {
        const server = yield* serve({ features })
        const client = yield* join(server)
        const refused = yield* client.refused("tools/call", { name: "a", arguments: {} })
        assert.strictEqual(refused.code, McpError.InternalError)

        client.send(call(101, "a"))
        client.send(call(102, "b"))
        client.send(call(103, "c"))
        client.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 102 } })
        const scope = yield* Scope.make()
        const other = yield* Scope.provide(join(server), scope)
        other.send(call(101, "d"))
        const answers: Array<unknown> = []
        const sink = {
          send: (message: unknown) => void answers.push(message),
          writable: () => true,
          ready: Effect.void
        }
        const posted = yield* Effect.forkChild(McpServer.dispatch(server)(call(1, "e"), {}, sink), {
          startImmediately: true
        })
        yield* quiesce
        yield* Scope.close(scope, Exit.void)
        yield* Fiber.interrupt(posted)
        assert.deepStrictEqual(answers, [
          { jsonrpc: "2.0", id: 1, error: { code: McpError.Interrupted, message: "The request was interrupted" } }
        ])

        module.gate.resolve()
        yield* client.call("a")
        assert.deepStrictEqual(called, ["a", "c", "a"])
        assert.deepStrictEqual(
          client.received.flatMap(({ id }) => (id > 100 ? [id] : [])),
          [101, 103]
        )
      })
  )
})
