import * as Http from "@effect-mcp/client/Http"
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import { FetchHttpClient } from "effect/http"
import { createServer, type ServerResponse } from "node:http"
import * as Session from "../../src/session/Session.ts"
import { until } from "../support/until.ts"

const results: { readonly [method: string]: string } = {
  initialize: JSON.stringify({
    protocolVersion: "2025-11-25",
    capabilities: { tools: {} },
    serverInfo: { name: "raw", version: "1" }
  }),
  "tools/list": JSON.stringify({ tools: [{ name: "deep", inputSchema: { type: "object" } }] }),
  "tools/call": `{"content":[],"structuredContent":{"a":${"[".repeat(20_000)}${"]".repeat(20_000)}}}`,
  ping: "{}"
}

const answer = (text: string, response: ServerResponse): void => {
  const { id, method }: { readonly id?: number; readonly method: string } = JSON.parse(text)
  const type = { "content-type": "application/json" }
  if (id === undefined) return void response.writeHead(202).end()
  const result = results[method]
  const part = result === undefined ? `"error":{"code":-32601,"message":"no"}` : `"result":${result}`
  response.writeHead(200, type).end(`{"jsonrpc":"2.0","id":${id},${part}}`)
}

/** A server without any library. Returns its URL. */
const raw: Effect.Effect<string, never, Scope.Scope> = Effect.acquireRelease(
  Effect.callback<{ readonly url: string; readonly close: () => void }>((resume) => {
    const server = createServer((request, response) => {
      if (request.method !== "POST") response.writeHead(405).end()
      let text = ""
      request.on("data", (chunk) => (text += String(chunk)))
      request.on("end", () => text === "" || answer(text, response))
    }).listen(0, "127.0.0.1", () => {
      const address = server.address()
      const port = typeof address === "object" && address !== null ? address.port : 0
      resume(Effect.succeed({ url: `http://127.0.0.1:${port}/mcp`, close: () => server.close() }))
    })
  }),
  ({ close }) => Effect.sync(close)
).pipe(Effect.map(({ url }) => url))

describe("A session over HTTP", () => {
  it.live("A result that is nested too deeply fails its call, and not the connection", () =>
    Effect.gen(function* () {
      const url = yield* raw
      const options = { name: url, url, connect: () => Http.open({ url }), revision: "2025-11-25" as const }
      const session = yield* Session.make(options, "http://127.0.0.1:1")
      yield* until(
        session,
        ({ connection, lists }) => connection.status === "connected" && lists.tools?.[0] !== undefined
      )
      yield* session.perform({ _tag: "Call", tool: "deep", arguments: {}, task: false })
      yield* until(session, ({ runs }) => runs[0]?.status === "failed")
      assert.include(session.board.state.runs[0]?.error?.message ?? "", "levels deep")
      yield* session.perform({ _tag: "Ping" })
      yield* until(session, ({ runs }) => runs[1]?.status === "done")
      assert.isTrue(session.board.state.wire.some(({ text }) => text === "(nested too deeply to show)"))
    }).pipe(Effect.scoped, Effect.provide([NodeServices.layer, FetchHttpClient.layer]))
  )
})
