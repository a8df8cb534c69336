/**
 * Nesting depth through a gateway: allowed messages arrive unchanged, deeper ones are rejected by the gateway, and a cancellation reaches
 * the upstream server.
 */
import { Memory, Tool, Tools } from "@effect-mcp/core"
import * as Framing from "@effect-mcp/core/Framing"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import * as Revision from "@effect-mcp/protocol/Revision"
import * as McpServer from "@effect-mcp/server/McpServer"
import * as Scripted from "@effect-mcp/testing/Scripted"
import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Layer, Schema } from "effect"
import * as Gateway from "../src/Gateway.ts"

const arrays = (depth: number) => `${"[".repeat(depth)}${"]".repeat(depth)}`

describe.each(Revision.all)("Gateway depth in $version", (revision) => {
  const meta = {
    [Meta.protocolVersion]: revision.version,
    [Meta.clientInfo]: { name: "x", version: "0" },
    [Meta.clientCapabilities]: {}
  }
  const _meta = revision.era === "stateless" ? `,"_meta":${JSON.stringify(meta)}` : ""
  const call = (id: number, name: string, value: string) =>
    `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"${name}","arguments":{"value":${value}}${_meta}}}`

  it.effect("Messages are relayed up to the depth limit", () =>
    Effect.gen(function* () {
      const started = yield* Deferred.make<void>()
      const interrupted = yield* Deferred.make<void>()
      const input = { value: Schema.Json }
      const features = Layer.mergeAll(
        Tools.layer(Tool.make("echo", { description: "", input, output: input }), (value) => Effect.succeed(value)),
        Tools.layer(Tool.make("hang", { description: "", input }), () =>
          Effect.andThen(
            Deferred.succeed(started, undefined),
            Effect.onInterrupt(Effect.never, () => Deferred.succeed(interrupted, undefined))
          )
        )
      )
      const server = yield* Layer.build(Layer.fresh(McpServer.layer({ name: "behind", version: "0", features })))
      const behind = Context.get(server, McpServer.McpServer)
      const connector = Effect.gen(function* () {
        const [client, end] = yield* Memory.pair()
        yield* behind.connect(end)
        return client
      })
      const front = yield* Layer.build(Layer.fresh(Gateway.layer({ connector })))
      const { push, take, transport } = yield* Scripted.make
      yield* Context.get(front, McpServer.McpServer).connect(transport)
      const answer = Effect.fnUntraced(function* (id: number) {
        for (;;) {
          const message: any = yield* take
          if (message.id === id && message.method === undefined) return message
        }
      })
      if (revision.era === "stateful") {
        yield* push({
          jsonrpc: "2.0",
          id: 0,
          method: "initialize",
          params: { protocolVersion: revision.version, capabilities: {}, clientInfo: { name: "x", version: "0" } }
        })
        yield* answer(0)
        yield* push({ jsonrpc: "2.0", method: "notifications/initialized" })
      }
      yield* push(call(1, "echo", arrays(253)))
      assert.strictEqual((yield* answer(1)).result?.content[0].text, `{"value":${arrays(253)}}`)
      for (const depth of [257, 20_000]) {
        yield* push(call(2, "echo", arrays(depth - 3)))
        assert.deepStrictEqual((yield* answer(2)).error, {
          code: -32600,
          message: `The message is nested ${depth} levels deep; at most ${Framing.defaultMaxMessageDepth} are allowed`
        })
      }
      yield* push(call(3, "hang", "1"))
      yield* Deferred.await(started)
      yield* push(
        `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3,"reason":${arrays(20_000)}${_meta}}}`
      )
      yield* Deferred.await(interrupted)
      yield* push(call(4, "echo", "4"))
      assert.property(yield* answer(4), "result")
    })
  )
})
