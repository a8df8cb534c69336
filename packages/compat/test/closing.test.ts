/** How servers close: running calls finish, later calls are told to retry, and streams end. */
import { Client, InMemoryTransport, StreamableHTTPClientTransport } from "@effect-mcp/compat/client"
import {
  createMcpHandler,
  McpServer,
  ProtocolError,
  WebStandardStreamableHTTPServerTransport
} from "@effect-mcp/compat/server"
import { assert, describe, it } from "@effect/vitest"
import { onTestFinished } from "vitest"

const refusal = "The server is shutting down and did not start the request. Send it again"

/** A server with one tool that waits for the test, and one that does not. */
const waiting = () => {
  const server = new McpServer({ name: "server", version: "1.0.0" })
  const started = Promise.withResolvers<void>()
  const go = Promise.withResolvers<void>()
  server.registerTool("wait", {}, async () => {
    started.resolve()
    await go.promise
    return { content: [{ type: "text", text: "finished" }] }
  })
  server.registerTool("quick", {}, () => ({ content: [] }))
  return { server, started: started.promise, finish: go.resolve }
}

interface Served {
  /** Connects the client. */
  readonly connect: (client: Client) => Promise<void>
  readonly close: () => Promise<void>
}

const url = new URL("http://localhost/mcp")

const over = (answer: (request: Request) => Promise<Response>) =>
  new StreamableHTTPClientTransport(url, { fetch: async (input, init) => answer(new Request(input, init)) })

const ways: { readonly [name: string]: (server: McpServer) => Promise<Served> } = {
  "a transport in memory": async (server) => {
    const [near, far] = InMemoryTransport.createLinkedPair()
    await server.connect(far)
    return { connect: (client) => client.connect(near), close: () => server.close() }
  },
  "a transport over HTTP": async (server) => {
    const transport = new WebStandardStreamableHTTPServerTransport({ sessionIdGenerator: () => crypto.randomUUID() })
    await server.connect(transport)
    return {
      connect: (client) => client.connect(over((request) => transport.handleRequest(request))),
      close: () => server.close()
    }
  },
  createMcpHandler: async (server) => {
    const handler = createMcpHandler(() => server, { legacy: "sessions" })
    return { connect: (client) => client.connect(over(handler.fetch)), close: () => handler.close() }
  }
}

describe.each(Object.entries(ways))("Closing a server over %s", (_, serve) => {
  it("Closing a server finishes running calls and rejects later ones", async () => {
    const { finish, server, started } = waiting()
    const { close, connect } = await serve(server)
    const client = new Client({ name: "client", version: "1.0.0" })
    onTestFinished(() => client.close())
    await connect(client)
    const call = client.callTool({ name: "wait" })
    await started
    const closed = [close(), close()]
    const refused: unknown = await client.callTool({ name: "quick" }).catch((error: unknown) => error)
    assert.instanceOf(refused, ProtocolError)
    assert.include(refused.message, refusal)
    finish()
    assert.deepStrictEqual((await call).content, [{ type: "text", text: "finished" }])
    await Promise.all(closed)
  })
})

it("A closed handler answers 503", async () => {
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" }
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: {} })
  for (const isUsed of [true, false]) {
    const handler = createMcpHandler(() => waiting().server)
    const post = () => handler.fetch(new Request(url, { method: "POST", headers, body }))
    if (isUsed) await post()
    await handler.close()
    const response = await post()
    const { error } = await response.json()
    assert.deepStrictEqual([response.status, error.message], [503, refusal])
  }
})

it("Closing a server ends its HTTP session's stream", async () => {
  const { server } = waiting()
  const transport = new WebStandardStreamableHTTPServerTransport({ sessionIdGenerator: () => crypto.randomUUID() })
  await server.connect(transport)
  const client = new Client({ name: "client", version: "1.0.0" })
  onTestFinished(() => client.close())
  await client.connect(over((request) => transport.handleRequest(request)))
  const stream = await transport.handleRequest(
    new Request(url, {
      headers: {
        accept: "text/event-stream",
        "mcp-session-id": transport.sessionId ?? "",
        "mcp-protocol-version": "2025-11-25"
      }
    })
  )
  const text = stream.text()
  await server.close()
  assert.notInclude(await text, "jsonrpc")
})
