/** The official clients and ours work against an endpoint without sessions. */
import { McpClient } from "@effect-mcp/client"
import { Progress, Tool, Tools } from "@effect-mcp/core"
import { serve } from "@effect-mcp/interop/reference/node"
import { McpServer } from "@effect-mcp/server"
import { Client as V2, StreamableHTTPClientTransport as V2Http } from "@modelcontextprotocol/client"
import { Client as V1 } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport as V1Http } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Schema, Stream } from "effect"
import { FetchHttpClient } from "effect/http"

const Steps = Tool.make("steps", { description: "Reports, then answers.", input: { text: Schema.String } })
const server = McpServer.layer({
  name: "test",
  version: "1.0.0",
  dynamic: true,
  features: Tools.layer(Steps, ({ text }) => Effect.as(Progress.report(1), text))
})
const url = Effect.map(serve(server, { sessions: false }), (port) => `http://127.0.0.1:${port}/mcp`)

const info = { name: "test", version: "1.0.0" }
const officials = [
  ["v1 in 2025-11-25", () => new V1(info), V1Http],
  ["v2 in 2025-11-25", () => new V2(info), V2Http],
  ["v2 in 2026-07-28", () => new V2(info, { versionNegotiation: { mode: { pin: "2026-07-28" } } }), V2Http]
] as const

describe("Sessionless endpoints", () => {
  it.live.each(officials)("A sessionless endpoint serves the TypeScript SDK %s", ([, make, Transport]) =>
    Effect.gen(function* () {
      const transport: any = new Transport(new URL(yield* url))
      const client: any = make()
      yield* Effect.acquireRelease(
        Effect.promise(() => client.connect(transport)),
        () => Effect.promise(() => client.close())
      )
      const { tools } = yield* Effect.promise<any>(() => client.listTools())
      assert.deepStrictEqual(
        tools.map(({ name }: { readonly name: string }) => name),
        ["steps"]
      )
      const reports: Array<number> = []
      const onprogress = ({ progress }: { readonly progress: number }) => void reports.push(progress)
      const call = { name: "steps", arguments: { text: "done" } }
      const { content } = yield* Effect.promise<any>(() =>
        transport instanceof V1Http
          ? client.callTool(call, undefined, { onprogress })
          : client.callTool(call, { onprogress })
      )
      assert.deepStrictEqual([content[0].text, reports], ["done", [1]])
      assert.strictEqual(transport.sessionId, undefined)
    })
  )

  it.live.each(["2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"] as const)(
    "A sessionless endpoint serves our client in %s",
    (version) =>
      Effect.gen(function* () {
        const context = yield* Layer.build(
          McpClient.layerHttp({ url: yield* url, revisions: [version] }).pipe(
            Layer.provide(FetchHttpClient.layer),
            Layer.fresh
          )
        )
        const client = Context.get(context, McpClient.McpClient)
        assert.strictEqual(client.revision.version, version)
        assert.strictEqual(client.serverCapabilities.resources?.subscribe, version === "2026-07-28" ? true : undefined)
        const names = yield* Stream.runCollect(Stream.map(client.listTools, ({ name }) => name))
        assert.deepStrictEqual([...names], ["steps"])
        const { content } = yield* client.callToolByName("steps", { text: "done" })
        assert.deepInclude(content[0], { text: "done" })
      })
  )
})
