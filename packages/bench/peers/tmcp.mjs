import { setTimeout } from "node:timers/promises"
import { McpServer } from "tmcp"
import { ZodJsonSchemaAdapter } from "@tmcp/adapter-zod"
import { z } from "zod"
import * as C from "./contract.mjs"

const server = new McpServer(C.info, {
  adapter: new ZodJsonSchemaAdapter(),
  capabilities: { tools: {}, resources: {} }
})
server.tool({ ...C.echo, schema: z.object({ text: z.string() }) }, async ({ text }) => ({
  content: [{ type: "text", text }]
}))
server.tool(
  { ...C.add, schema: z.object({ a: z.number(), b: z.number() }), outputSchema: z.object({ sum: z.number() }) },
  async ({ a, b }) => {
    const r = { sum: a + b }
    return { content: [{ type: "text", text: JSON.stringify(r) }], structuredContent: r }
  }
)
server.tool({ ...C.wait, schema: z.object({ text: z.string() }) }, async ({ text }) => {
  await setTimeout(C.waits)
  return { content: [{ type: "text", text }] }
})
server.tool({ ...C.flood, schema: z.object({ n: z.number() }) }, async ({ n }) => {
  for (let i = 1; i <= n; i++) server.progress(i, n)
  return { content: [{ type: "text", text: "done" }] }
})
const fill = z.object({
  query: z.string().describe(C.queryDescription),
  limit: z.number().optional().describe(C.limitDescription)
})
for (const name of C.fillers)
  server.tool({ name, description: C.descriptionOf(name), schema: fill }, async () => ({
    content: [{ type: "text", text: "ok" }]
  }))
server.resource(
  { name: C.resource.name, description: "readme", uri: C.resource.uri, mimeType: C.resource.mimeType },
  async (uri) => ({ contents: [{ uri, mimeType: C.resource.mimeType, text: C.resource.text }] })
)

if (C.flag("stdio")) {
  const { StdioTransport } = await import("@tmcp/transport-stdio")
  new StdioTransport(server).listen()
} else {
  const http = await import("node:http")
  const { HttpTransport } = await import("@tmcp/transport-http")
  const { createRequestListener } = await import("@remix-run/node-fetch-server")
  const transport = new HttpTransport(server, { path: "/mcp" })
  const h = http.createServer(
    createRequestListener(async (request) => (await transport.respond(request)) ?? new Response(null, { status: 404 }))
  )
  h.keepAliveTimeout = 0
  h.listen(0, "127.0.0.1", () => C.ready(h.address().port))
}
