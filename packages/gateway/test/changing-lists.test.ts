/** A gateway whose upstream server may be replaced, and middleware around the requests it relays. */
import { Memory, Tool, Tools } from "@effect-mcp/core"
import * as McpError from "@effect-mcp/protocol/McpError"
import type * as Revision from "@effect-mcp/protocol/Revision"
import * as McpServer from "@effect-mcp/server/McpServer"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Stream } from "effect"
import * as Gateway from "../src/Gateway.ts"
import { join, pairs } from "./support/gateway.ts"

const hello = Tools.layer(Tool.make("hello", { description: "Greets." }), () => Effect.succeed("Hello"))

const gateway = (upstream: Revision.Version, options: Partial<Gateway.Options<never, never>>) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const built = yield* Layer.build(McpServer.layer({ name: "behind", version: "1", features: hello }))
      return Gateway.layer({
        connector: Effect.gen(function* () {
          const [client, end] = yield* Memory.pair()
          yield* Context.get(built, McpServer.McpServer).connect(end)
          return client
        }),
        client: { revisions: [upstream] },
        ...options
      })
    })
  )

describe.each(pairs)("Gateways in $title", ({ downstream, upstream }) => {
  it.effect("A replaceable upstream server has every list, empty if it lacks the feature", () =>
    Effect.gen(function* () {
      const client = yield* join(downstream)
      assert.deepStrictEqual(client.serverCapabilities.prompts, { listChanged: true })
      assert.isTrue(client.serverCapabilities.resources?.listChanged)
      assert.deepStrictEqual(yield* Stream.runCollect(client.listPrompts), [])
      assert.deepStrictEqual(yield* Stream.runCollect(client.listResources), [])
      assert.deepStrictEqual(yield* Stream.runCollect(client.listResourceTemplates), [])
      assert.strictEqual((yield* Stream.runCollect(client.listTools)).length, 1)
    }).pipe(Effect.provide(gateway(upstream.version, { changingLists: true })))
  )

  it.effect("The upstream server's declarations are forwarded unless the options override them", () =>
    Effect.gen(function* () {
      const client = yield* join(downstream)
      assert.isUndefined(client.serverCapabilities.prompts)
      assert.isUndefined(client.serverCapabilities.resources)
    }).pipe(Effect.provide(gateway(upstream.version, {})))
  )

  it.effect("Middleware wraps relayed requests and can reject or change them", () => {
    const seen: Array<string> = []
    return Effect.gen(function* () {
      const client = yield* join(downstream)
      const refused = yield* Effect.flip(client.raw.request("tools/call", { name: "closed", arguments: {} }))
      assert.strictEqual(refused.message, "Closed today")
      const called = yield* client.raw.request("tools/call", { name: "renamed", arguments: {} })
      assert.deepInclude(called, { content: [{ type: "text", text: "Hello" }] })
      assert.deepStrictEqual(seen.filter((method) => method === "tools/call").length, 2)
    }).pipe(
      Effect.provide(
        gateway(upstream.version, {
          middleware: (request, next, proceed) => {
            seen.push(request.method)
            if (request.method !== "tools/call") return next
            if (request.params.name === "closed") return Effect.fail(McpError.invalidRequest("Closed today"))
            return proceed({ ...request, params: { ...request.params, name: "hello" } })
          }
        })
      )
    )
  })
})
