/** Requests that the SDK rejects, or whose URL is invalid. */
import { toNodeHandler } from "@effect-mcp/compat/node"
import { createMcpHandler, McpServer, WebStandardStreamableHTTPServerTransport } from "@effect-mcp/compat/server"
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { type RequestListener, request as httpRequest } from "node:http"
import { listening } from "./support/listening.ts"

const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" }

const older = { "mcp-protocol-version": "2025-11-25" }

const message = (method: string, params: object) => JSON.stringify({ jsonrpc: "2.0", id: 1, method, params })

const initialize = message("initialize", {
  protocolVersion: "2025-11-25",
  capabilities: {},
  clientInfo: { name: "tester", version: "1.0.0" }
})

/** Sends a path unchanged. `fetch` would normalize it. */
const post = async (path: string, listener: RequestListener): Promise<number | undefined> => {
  const { port } = await listening(listener)
  return new Promise((resolve, reject) => {
    const sent = httpRequest(
      { host: "127.0.0.1", port, path, method: "POST", headers: { ...headers, ...older } },
      (response) => {
        response.resume()
        resolve(response.statusCode)
      }
    )
    sent.on("error", reject)
    sent.end(message("tools/list", {}))
  })
}

describe("Paths starting with two slashes", () => {
  const urls: Array<string | undefined> = []
  const handlerOf = () => {
    const handler = createMcpHandler(({ requestInfo }) => {
      if (requestInfo !== undefined) urls.push(requestInfo.url)
      return new McpServer({ name: "made", version: "1.0.0" }, { capabilities: { tools: {} } })
    })
    onTestFinished(() => handler.close())
    return handler
  }

  it.each(["//", "//evil.example/mcp"])("A request to %s is served under the server's own host", async (path) => {
    urls.length = 0
    assert.strictEqual(await post(path, toNodeHandler(handlerOf())), 200)
    assert.deepStrictEqual(urls, [`http://localhost${path}`])
  })

  it("A request that forms no valid URL gets 400", async () => {
    const found: Array<string> = []
    const listener = toNodeHandler({
      fetch: async ({ url }) => {
        found.push(new URL(url).pathname)
        return new Response(null, { status: 404 })
      }
    })
    assert.deepStrictEqual([await post("//", listener), await post("http://[", listener)], [404, 400])
    assert.deepStrictEqual(found, ["//"])
  })
})

describe("Transports with a session", () => {
  it("A second initialize gets 400, and the session is kept", async () => {
    const transport = new WebStandardStreamableHTTPServerTransport({ sessionIdGenerator: () => "any" })
    await new McpServer({ name: "single", version: "1.0.0" }).connect(transport)
    onTestFinished(() => transport.close())
    const send = (body: string, more: { [name: string]: string } = {}) =>
      transport.handleRequest(
        new Request("http://localhost/mcp", { method: "POST", headers: { ...headers, ...more }, body })
      )
    const first = await send(initialize)
    const id = first.headers.get("mcp-session-id") ?? ""
    const second = await send(initialize)
    assert.deepStrictEqual([first.status, second.status, second.headers.get("mcp-session-id")], [200, 400, null])
    assert.strictEqual(Object(await second.json()).error.code, -32_600)
    const ping = await send(message("ping", {}), { "mcp-session-id": id, ...older })
    assert.strictEqual(ping.status, 200)
  })
})
