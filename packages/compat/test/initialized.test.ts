/** `oninitialized`, and a server's information about its client, in revisions with and without a handshake. */
/* oxlint-disable unicorn/prefer-add-event-listener -- servers of the SDK are not event targets */
import { Client, InMemoryTransport } from "@effect-mcp/compat/client"
import { McpServer } from "@effect-mcp/compat/v1/server/mcp.js"
import { assert, describe, it, onTestFinished } from "@effect/vitest"

const connect = async (server: McpServer, version: string) => {
  const client = new Client(
    { name: "tester", version: "1.0.0" },
    { capabilities: { roots: {} }, versionNegotiation: { mode: { pin: version } } }
  )
  const [near, far] = InMemoryTransport.createLinkedPair()
  await server.connect(far)
  await client.connect(near)
  onTestFinished(() => client.close())
  return client
}

describe.each(["2025-11-25", "2026-07-28"])("v1 servers in %s", (version) => {
  it("Tools registered in oninitialized for the client's capabilities are listed", async () => {
    const server = new McpServer({ name: "server", version: "1.0.0" }, { capabilities: { tools: {} } })
    let calls = 0
    server.server.oninitialized = () => {
      calls++
      if (server.server.getClientCapabilities()?.roots === undefined) return
      server.tool("conditional", () => ({
        content: [{ type: "text", text: String(server.server.getClientVersion()?.name) }]
      }))
    }
    const client = await connect(server, version)
    assert.deepStrictEqual(
      (await client.listTools()).tools.map(({ name }) => name),
      ["conditional"]
    )
    const { content } = await client.callTool({ name: "conditional" })
    assert.deepStrictEqual([content, calls], [[{ type: "text", text: "tester" }], 1])
  })
})

describe("v1 servers in 2026-07-28", () => {
  it("A throwing oninitialized is reported, and the request is answered", async () => {
    const server = new McpServer({ name: "server", version: "1.0.0" }, { capabilities: { tools: {} } })
    const errors: Array<string> = []
    server.server.onerror = ({ message }) => void errors.push(message)
    server.server.oninitialized = () => {
      throw new Error("no start")
    }
    const client = await connect(server, "2026-07-28")
    assert.deepStrictEqual((await client.listTools()).tools, [])
    assert.deepStrictEqual(errors, ["no start"])
  })
})
