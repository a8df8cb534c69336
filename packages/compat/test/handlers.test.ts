/** Handlers by method: their types, and the schemas that programs pass. */
import { Client as ClientV1 } from "@effect-mcp/compat/v1/client/index.js"
import { InMemoryTransport } from "@effect-mcp/compat/v1/inMemory.js"
import { Server } from "@effect-mcp/compat/v1/server/index.js"
import { CallToolRequestSchema, type CallToolResult, ListToolsRequestSchema } from "@effect-mcp/compat/v1/types.js"
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { z } from "zod"

const capabilities = { tools: {}, prompts: {} }
const serverOf = () => new Server({ name: "typed", version: "1.0.0" }, { capabilities })

const connected = async (server: Server) => {
  const [near, far] = InMemoryTransport.createLinkedPair()
  await server.connect(far)
  const client = new ClientV1({ name: "tester", version: "1.0.0" })
  await client.connect(near)
  onTestFinished(() => client.close())
  return client
}

describe("Low-level server handlers", () => {
  it("A handler set by name or v1 schema receives its method's params", async () => {
    const server = serverOf()
    const called = ({ arguments: args, name }: { name: string; arguments?: { [name: string]: unknown } | undefined }) =>
      ({ content: [{ type: "text", text: `${name} ${String(args?.["n"])}` }] }) satisfies CallToolResult
    server.setRequestHandler("tools/call", ({ params }) => called(params))
    const client = await connected(server)
    const call = async () => (await client.callTool({ name: "add", arguments: { n: 1 } })).content
    assert.deepStrictEqual(await call(), [{ type: "text", text: "add 1" }])
    server.setRequestHandler(CallToolRequestSchema, ({ params }) => called({ ...params, name: "v1" }))
    assert.deepStrictEqual(await call(), [{ type: "text", text: "v1 1" }])
  })

  it("The compiler and the server reject another method's results", async () => {
    const server = serverOf()
    // @ts-expect-error -- the result of tools/list has tools
    server.setRequestHandler("tools/list", () => ({ prompts: [] }))
    // @ts-expect-error -- the result of tools/list has tools, for the schema of v1, too
    server.setRequestHandler(ListToolsRequestSchema, () => ({ prompts: [] }))
    // @ts-expect-error -- the params of prompts/get have no uri
    server.setRequestHandler("prompts/get", ({ params }) => ({ messages: [], uri: params.uri }))
    // @ts-expect-error -- MCP has no such method: its schemas are missing
    server.setRequestHandler("acme/search", () => ({}))
    const client = await connected(server)
    const error: unknown = await client.listTools().catch((error: unknown) => error)
    assert.strictEqual(Object(error).code, -32_603)
  })

  it("A handler receives requests decoded by the program's schema", async () => {
    const server = serverOf()
    const Search = z.object({
      method: z.literal("acme/search"),
      params: z.object({ query: z.string(), limit: z.number().default(2) })
    })
    server.setRequestHandler(Search, ({ params: { limit, query } }) => ({ found: query.repeat(limit) }))
    const client = await connected(server)
    const Found = z.object({ found: z.string() })
    const search = (params: { [name: string]: unknown }) => client.request({ method: "acme/search", params }, Found)
    assert.deepStrictEqual(await search({ query: "a" }), { found: "aa" })
    const error: unknown = await search({ query: 1 }).catch((error: unknown) => error)
    assert.strictEqual(Object(error).code, -32_602)
  })
})
