/** Program functions that fail: the reported error, and the client's answer. */
import { Client, InMemoryTransport } from "@effect-mcp/compat/client"
import { toNodeHandler } from "@effect-mcp/compat/node"
import {
  createMcpHandler,
  type McpServerFactory,
  McpServer,
  WebStandardStreamableHTTPServerTransport
} from "@effect-mcp/compat/server"
import { serveStdio } from "@effect-mcp/compat/server/stdio"
import { assert, describe, it } from "@effect/vitest"
import { listening } from "./support/listening.ts"

const info = { name: "calls", version: "1.0.0" }
const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" }

const initialize = JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: info }
})

const post = (url = "http://localhost/mcp", more: Record<string, string> = {}) =>
  new Request(url, { method: "POST", headers: { ...headers, ...more }, body: initialize })

/** A factory that throws on its first call and creates servers afterwards. */
const brokenOnce = (): McpServerFactory => {
  let calls = 0
  return () => {
    calls += 1
    if (calls === 1) throw new Error("No database")
    return new McpServer(info)
  }
}

describe("createMcpHandler", () => {
  it("createMcpHandler answers 500 and reports why if its factory throws", async () => {
    const errors: Array<string> = []
    const handler = createMcpHandler(brokenOnce(), { onerror: ({ message }) => void errors.push(message) })
    const refused = await handler.fetch(post())
    assert.strictEqual(refused.status, 500)
    assert.notInclude(await refused.text(), "database")
    assert.deepStrictEqual(errors, ["No database"])
    const answered = await handler.fetch(post())
    assert.strictEqual(answered.status, 200)
    handler.notify.toolsChanged()
    await handler.close()
    assert.isAtLeast((await handler.fetch(post())).status, 500)
  })

  it("createMcpHandler answers 500 on node:http if its factory throws", async () => {
    const handler = createMcpHandler(brokenOnce())
    const listener = toNodeHandler(handler)
    const { href } = new URL("/mcp", await listening((request, response) => void listener(request, response)))
    const statuses = []
    for (const request of [post(href), post(href)]) statuses.push((await fetch(request)).status)
    assert.deepStrictEqual(statuses, [500, 200])
    await handler.close()
  })
})

describe("Transports with sessions", () => {
  const connected = async (options: ConstructorParameters<typeof WebStandardStreamableHTTPServerTransport>[0]) => {
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      ...options
    })
    const errors: Array<string> = []
    Object.assign(transport, { onerror: ({ message }: Error) => void errors.push(message) })
    const server = new McpServer(info)
    await server.connect(transport)
    return { errors, server, transport }
  }

  it("A transport with sessions awaits onsessioninitialized before it answers", async () => {
    const order: Array<string> = []
    let known = (): void => undefined
    const gate = new Promise<void>((resolve) => (known = resolve))
    const onsessioninitialized = async () => {
      order.push("called")
      await gate
      order.push("known")
    }
    const { server, transport } = await connected({ onsessioninitialized })
    const answer = transport.handleRequest(post()).then(({ status }) => void order.push(String(status)))
    // Another request is answered in between: an answer that waits for nothing would have arrived by then.
    await transport.handleRequest(post())
    known()
    await answer
    assert.deepStrictEqual(order.slice(0, 3), ["called", "known", "200"])
    await server.close()
  })

  it("A transport rejects the session and reports why if onsessioninitialized rejects", async () => {
    const { errors, server, transport } = await connected({
      onsessioninitialized: () => Promise.reject(new Error("Full"))
    })
    const answer: unknown = await (await transport.handleRequest(post())).json()
    assert.nestedPropertyVal(answer, "error.code", -32_603)
    assert.deepStrictEqual(errors, ["Full"])
    await server.close()
  })

  it("A transport ends and reports why if onsessionclosed throws", async () => {
    const onsessionclosed = () => {
      throw new Error("Not found")
    }
    const { errors, server, transport } = await connected({ onsessionclosed })
    const closed = new Promise<void>((resolve) => Object.assign(server.server, { onclose: resolve }))
    const id = (await transport.handleRequest(post())).headers.get("mcp-session-id") ?? ""
    const request = new Request("http://localhost/mcp", { method: "DELETE", headers: { "mcp-session-id": id } })
    await transport.handleRequest(request)
    await closed
    assert.deepStrictEqual(errors, ["Not found"])
  })
})

describe("serveStdio", () => {
  it("serveStdio returns a handle immediately and serves the given transport", async () => {
    const [near, far] = InMemoryTransport.createLinkedPair()
    const handle = serveStdio(() => new McpServer(info), { transport: far })
    assert.property(handle, "close")
    const client = new Client(info)
    await client.connect(near)
    assert.deepInclude(client.getServerVersion(), info)
    await handle.close()
  })

  it("serveStdio reports a throwing factory and closes the transport", async () => {
    const [near, far] = InMemoryTransport.createLinkedPair()
    const closed = new Promise<void>((resolve) => Object.assign(near, { onclose: resolve }))
    const errors: Array<string> = []
    const handle = serveStdio(brokenOnce(), { transport: far, onerror: ({ message }) => void errors.push(message) })
    await closed
    await handle.close()
    assert.deepStrictEqual(errors, ["No database"])
  })

  it("serveStdio rejects older clients' handshakes if legacy is reject", async () => {
    const [near, far] = InMemoryTransport.createLinkedPair()
    const handle = serveStdio(() => new McpServer(info), { transport: far, legacy: "reject" })
    const refused = await new Client(info).connect(near).then(
      () => false,
      () => true
    )
    assert.isTrue(refused)
    await handle.close()
  })
})
