/** Tools that some host cannot use, in the Promise API. */
import { McpClient, McpServer } from "@effect-mcp/promise"
import { assert, describe, it } from "@effect/vitest"
import { z } from "zod"

const union = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("file"), path: z.string() }),
  z.object({ kind: z.literal("page"), url: z.url() })
])

const serverOf = (portability?: "project" | "strict" | "off", name = "open") => {
  const server = new McpServer({ name: "test", version: "1.0.0", ...(portability && { portability }) })
  server.tool(name, { description: "Opens", input: union }, (input) => (input.kind === "file" ? input.path : input.url))
  return server
}

const toolsOf = async (client: McpClient) => {
  const tools = []
  for await (const tool of client.listTools()) tools.push(tool)
  return tools
}

describe("The option portability", () => {
  it("Lists a union as one object by default, and passes each member to the handler", async () => {
    const server = serverOf()
    await using client = await McpClient.connect(server)
    const [tool] = await toolsOf(client)
    assert.notProperty(tool?.inputSchema, "oneOf")
    assert.deepStrictEqual(tool?.inputSchema["required"], ["kind"])
    const file = await client.callTool("open", { kind: "file", path: "a.txt" })
    assert.deepStrictEqual(file.content, [{ type: "text", text: "a.txt" }])
    const page = await client.callTool("open", { kind: "page", url: "https://example.com/" })
    assert.deepStrictEqual(page.content, [{ type: "text", text: "https://example.com/" }])
    await server.close()
  })

  it("Projects a tool that is added while the server runs", async () => {
    const server = new McpServer({ name: "test", version: "1.0.0", dynamic: true })
    await using client = await McpClient.connect(server)
    server.tool("open", { description: "Opens", input: union }, () => "")
    const [tool] = await toolsOf(client)
    assert.deepStrictEqual(tool?.inputSchema["required"], ["kind"])
    await server.close()
  })

  it("Lists schemas as they are written with off", async () => {
    const server = serverOf("off")
    await using client = await McpClient.connect(server)
    const [tool] = await toolsOf(client)
    assert.property(tool?.inputSchema, "oneOf")
    await server.close()
  })

  it("Refuses to serve a tool that cannot be projected with strict", async () => {
    const server = serverOf("strict", "open.it")
    const error = await McpClient.connect(server).then(
      () => undefined,
      (reason: unknown) => reason
    )
    assert.instanceOf(error, Error)
    assert.match(error.message, /Some hosts cannot use the tool "open\.it"/)
    await server.close()
  })

  it("Rejects another value", () => {
    assert.throws(
      () => new McpServer({ name: "test", version: "1.0.0", portability: JSON.parse('"loud"') }),
      'McpServer: the option "portability" must be one of project, strict, off, but is "loud"'
    )
  })
})
