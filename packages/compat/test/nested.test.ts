/** Bodies that are nested deeper than any message: `express.json()` parses them before the transport sees them. */
import { NodeStreamableHTTPServerTransport, toNodeHandler } from "@effect-mcp/compat/node"
import { createMcpHandler, McpServer, WebStandardStreamableHTTPServerTransport } from "@effect-mcp/compat/server"
import { SSEServerTransport } from "@effect-mcp/compat/v1/server/sse.js"
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import express from "express"
import { listening } from "./support/listening.ts"
import { unhandled } from "./support/unhandled.ts"

const info = { name: "nested", version: "1.0.0" }
const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" }
const depth = 50_000
const body = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"a":${"[".repeat(depth)}${"]".repeat(depth)}}}`

const post = async (url: URL) => {
  const response = await fetch(url, { method: "POST", headers, body })
  return { status: response.status, body: await response.json() }
}
const refused = { status: 400, code: -32_600 }
const codeOf = ({ body, status }: { readonly status: number; readonly body: { error: { code: number } } }) => ({
  status,
  code: body.error.code
})

describe("Bodies nested 50 000 levels deep", () => {
  it("A transport behind express.json answers 400 with a JSON-RPC error", async () => {
    const transport = new NodeStreamableHTTPServerTransport({ sessionIdGenerator: undefined })
    await new McpServer(info).connect(transport)
    onTestFinished(() => transport.close())
    const app = express().use(express.json({ limit: "1mb" }))
    app.post("/mcp", (request, response) => transport.handleRequest(request, response, request.body))
    assert.deepStrictEqual(codeOf(await post(new URL("/mcp", await listening(app)))), refused)
  })

  it("createMcpHandler behind express.json answers 400 with a JSON-RPC error", async () => {
    const handler = createMcpHandler(() => new McpServer(info))
    onTestFinished(() => handler.close())
    const node = toNodeHandler(handler)
    const app = express().use(express.json({ limit: "1mb" }))
    app.post("/mcp", (request, response) => node(request, response, request.body))
    assert.deepStrictEqual(codeOf(await post(new URL("/mcp", await listening(app)))), refused)
  })

  it("A Web API transport answers a parsed body with 400 and a JSON-RPC error", async () => {
    const transport = new WebStandardStreamableHTTPServerTransport({})
    await new McpServer(info).connect(transport)
    onTestFinished(() => transport.close())
    const request = new Request("http://localhost/mcp", { method: "POST", headers, body })
    const response = await transport.handleRequest(request, { parsedBody: JSON.parse(body) })
    assert.deepStrictEqual(codeOf({ status: response.status, body: await response.json() }), refused)
  })

  it("A program's handler behind toNodeHandler answers 400 with a JSON-RPC error", async () => {
    const reasons = unhandled()
    const node = toNodeHandler({ fetch: () => new Response("taken") })
    const url = await listening((request, response) => void node(request, response, JSON.parse(body)))
    assert.deepStrictEqual(codeOf(await post(url)), refused)
    assert.deepStrictEqual(reasons, [])
  })

  it("An SSEServerTransport stream answers the message with 400", async () => {
    const opened = Promise.withResolvers<SSEServerTransport>()
    const url = await listening((request, response) => {
      if (request.method === "GET") {
        const transport = new SSEServerTransport("/messages", response)
        void new McpServer(info).connect(transport)
        opened.resolve(transport)
      } else void opened.promise.then((transport) => transport.handlePostMessage(request, response, JSON.parse(body)))
    })
    const stream = await fetch(url)
    onTestFinished(() => stream.body?.cancel())
    await opened.promise
    const response = await fetch(url, { method: "POST", headers, body })
    assert.strictEqual(response.status, 400)
  })
})
