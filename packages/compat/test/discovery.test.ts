/** Information that a client has beyond results: the server before connecting, the tools before a call, and event ids. */
import { Client, type ConnectOptions, StreamableHTTPClientTransport } from "@effect-mcp/compat/client"
import { createMcpHandler, McpServer, WebStandardStreamableHTTPServerTransport } from "@effect-mcp/compat/server"
import { assert, describe, it, onTestFinished } from "@effect/vitest"

const url = new URL("http://localhost/mcp")
const text = (text: string) => ({ content: [{ type: "text" as const, text }] })

/** Counts the methods that a server's clients have sent. */
const counting = () => {
  const sent: Array<string> = []
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: "counted", version: "1.0.0" })
    server.registerTool("hello", {}, () => text("Hello"))
    return server
  })
  onTestFinished(() => handler.close())
  const transport = () =>
    new StreamableHTTPClientTransport(url, {
      fetch: async (input, init) => {
        sent.push(Object(JSON.parse(new TextDecoder().decode(Object(init).body)))["method"])
        return handler.fetch(new Request(input, init))
      }
    })
  return { sent, transport }
}

const clientOf = (mode?: "auto") => {
  const client = new Client({ name: "tester", version: "1.0.0" }, { versionNegotiation: { mode } })
  onTestFinished(() => client.close())
  return client
}

describe("Clients with a known server", () => {
  it("A client with a known server sends nothing before its first call", async () => {
    const { sent, transport } = counting()
    const first = clientOf("auto")
    await first.connect(transport())
    const discover = JSON.parse(JSON.stringify(first.getDiscoverResult()))
    sent.length = 0
    const worker = clientOf()
    await worker.connect(transport(), { prior: { kind: "modern", discover } })
    assert.deepStrictEqual(sent, [])
    assert.deepStrictEqual(
      [worker.getNegotiatedProtocolVersion(), worker.getServerVersion(), worker.getServerCapabilities()],
      ["2026-07-28", { name: "counted", version: "1.0.0" }, { tools: { listChanged: true } }]
    )
    await worker.callTool({ name: "hello" })
    assert.deepStrictEqual(sent, ["tools/call"])
  })

  it("A client with a known legacy server starts with the handshake", async () => {
    const { sent, transport } = counting()
    await clientOf("auto").connect(transport(), { prior: { kind: "legacy" } })
    assert.deepStrictEqual(sent, ["initialize", "notifications/initialized"])
  })

  it.each<{ readonly why: string; readonly prior: unknown }>([
    { why: "an unknown kind", prior: { kind: "unreachable" } },
    {
      why: "an older revision",
      prior: { kind: "modern", discover: { supportedVersions: ["2025-11-25"], capabilities: {} } }
    }
  ])("A client is rejected for $why of the known server, and can connect afterwards", async ({ prior }) => {
    const { transport } = counting()
    const client = clientOf("auto")
    const options: ConnectOptions = Object(JSON.parse(JSON.stringify({ prior })))
    const error: unknown = await client.connect(transport(), options).catch((error: unknown) => error)
    assert.strictEqual(Object(error).code, "ERA_NEGOTIATION_FAILED")
    await client.connect(transport())
  })
})

describe("HTTP call events", () => {
  it("A call over HTTP reports only its own event ids", async () => {
    const transport = new WebStandardStreamableHTTPServerTransport({ sessionIdGenerator: () => "any" })
    const server = new McpServer({ name: "logs", version: "1.0.0" }, { capabilities: { logging: {} } })
    server.registerTool("logs", {}, async ({ mcpReq }) => {
      await mcpReq.log("info", "one")
      await mcpReq.log("info", "two")
      return text("logged")
    })
    await server.connect(transport)
    onTestFinished(() => server.close())
    const sent: Array<string> = []
    const client = clientOf()
    await client.connect(
      new StreamableHTTPClientTransport(url, {
        fetch: (input, init) => {
          sent.push(...new Headers(init?.headers).keys())
          return transport.handleRequest(new Request(input, init))
        }
      })
    )
    const ids: Array<string> = []
    const call = client.callTool({ name: "logs" }, { onresumptiontoken: (id) => ids.push(id) })
    await Promise.all([call, client.callTool({ name: "logs" })])
    assert.isAtLeast(ids.length, 2)
    assert.strictEqual(new Set(ids).size, ids.length)
    assert.notInclude(sent, "x-effect-mcp-resumption")
  })
})
