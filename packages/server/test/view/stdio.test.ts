/** `McpServer.requests` of a server over stdio. */
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as McpServer from "@effect-mcp/server/McpServer"
import { assert, describe, it } from "@effect/vitest"
import { type Cause, Effect, Fiber, Queue, Sink, Stdio, Stream } from "effect"
import { metaOf } from "../support/modern.ts"
import { quiesce, serve } from "../support/raw.ts"

const handshake = [
  {
    jsonrpc: "2.0",
    id: 0,
    method: "initialize",
    params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "x", version: "0" } }
  },
  { jsonrpc: "2.0", method: "notifications/initialized" }
]
const call = (params: object) => ({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "hang", ...params } })

describe("Request view over stdio", () => {
  for (const [version, messages] of [
    ["2025-11-25", [...handshake, call({})]],
    ["2026-07-28", [call({ _meta: metaOf({}) })]]
  ] as const) {
    it.effect(`A stuck ${version} call is interrupted and answered with the reason`, () =>
      Effect.gen(function* () {
        const features = Tools.layer(Tool.make("hang", { description: "" }), () => Effect.never)
        const server = yield* serve({ features })
        const input = yield* Queue.unbounded<Uint8Array, Cause.Done>()
        let output = ""
        const stdio = Stdio.layerTest({
          stdin: Stream.fromQueue(input),
          stdout: () =>
            Sink.forEach((chunk: string | Uint8Array) =>
              Effect.sync(() => void (output += typeof chunk === "string" ? chunk : new TextDecoder().decode(chunk)))
            )
        })
        const fiber = yield* McpServer.serveStdio().pipe(
          Effect.provideService(McpServer.McpServer, server),
          Effect.provide(stdio),
          Effect.forkChild({ startImmediately: true })
        )
        const lines = messages.map((message) => `${JSON.stringify(message)}\n`).join("")
        yield* Queue.offer(input, new TextEncoder().encode(lines))
        yield* quiesce
        const [row] = yield* server.requests.list
        assert.deepInclude(row, { id: 1, target: "hang", revision: version, transport: "stdio", session: "session-1" })
        yield* server.requests.interrupt(row!.key, "It was stuck")
        yield* quiesce
        const answer = JSON.parse(output.trim().split("\n").at(-1)!)
        assert.deepStrictEqual(answer.error, { code: McpError.Interrupted, message: "It was stuck" })
        assert.deepStrictEqual(yield* server.requests.list, [])
        yield* Queue.end(input)
        yield* Fiber.join(fiber)
      })
    )
  }
})
