/** Servers from a factory: the server for a client hears it, sees its capabilities and asks it. */
import { Client, InMemoryTransport } from "@effect-mcp/compat/client"
import { createMcpHandler, McpServer } from "@effect-mcp/compat/server"
import { serveStdio } from "@effect-mcp/compat/server/stdio"
import { assert, describe, it, onTestFinished } from "@effect/vitest"

const params = { mode: "form", message: "Your name?", requestedSchema: { type: "object", properties: {} } } as const

describe("Servers from a factory", () => {
  it("A factory server receives notifications and asks its client after a handshake", async () => {
    const heard: Array<string> = []
    const known = Promise.withResolvers<unknown>()
    const rootsHeard = Promise.withResolvers<void>()
    const factory = ({ era }: { era: string }) => {
      const server = new McpServer({ name: "made", version: "1.0.0" })
      server.registerTool("hello", {}, () => ({ content: [] }))
      server.server.oninitialized = () => {
        heard.push(`${era} initialized`)
        const client = [server.server.getClientVersion()?.name, server.server.getClientCapabilities()]
        known.resolve(server.server.elicitInput(params).then(({ content }) => [...client, content]))
      }
      server.server.setNotificationHandler("notifications/roots/list_changed", () => {
        heard.push(`${era} roots`)
        rootsHeard.resolve()
      })
      return server
    }
    const [near, far] = InMemoryTransport.createLinkedPair()
    const handle = serveStdio(factory, { transport: far })
    onTestFinished(() => handle.close())
    const capabilities = { elicitation: { form: {} }, roots: { listChanged: true } }
    const client = new Client({ name: "Ada", version: "1.0.0" }, { capabilities })
    client.setRequestHandler("elicitation/create", () => ({ action: "accept", content: { name: "Ada" } }))
    await client.connect(near)
    assert.deepStrictEqual(await known.promise, ["Ada", capabilities, { name: "Ada" }])
    await client.sendRootsListChanged()
    await rootsHeard.promise
    assert.deepStrictEqual(heard, ["legacy initialized", "legacy roots"])
    await client.close()
  })

  it.each(["legacy", "auto"] as const)("A factory server sees its client's capabilities in mode %s", async (mode) => {
    const { fetch } = createMcpHandler(() => {
      const server = new McpServer({ name: "made", version: "1.0.0" })
      server.registerTool("client", {}, () => ({
        content: [{ type: "text", text: JSON.stringify(server.server.getClientCapabilities() ?? null) }]
      }))
      return server
    })
    const { StreamableHTTPClientTransport } = await import("@effect-mcp/compat/client")
    const client = new Client(
      { name: "Ada", version: "1.0.0" },
      { capabilities: { sampling: {} }, versionNegotiation: { mode } }
    )
    const transport = new StreamableHTTPClientTransport(new URL("http://localhost/mcp"), {
      fetch: async (input, init) => fetch(new Request(input, init))
    })
    await client.connect(transport)
    const { content } = await client.callTool({ name: "client" })
    // In older revisions, a request without a session does not carry the client's capabilities.
    assert.deepStrictEqual(content, [{ type: "text", text: mode === "auto" ? '{"sampling":{}}' : "{}" }])
    await client.close()
  })
})
