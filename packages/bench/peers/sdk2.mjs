// Official SDK v2: createMcpHandler (per-request factory; 2026-07-28 + stateless 2025),
// hand-wired sessions (NodeStreamableHTTPServerTransport), and serveStdio.
import * as http from "node:http"
import { randomUUID } from "node:crypto"
import { setTimeout } from "node:timers/promises"
import * as z from "zod/v4"
import { McpServer, createMcpHandler } from "@modelcontextprotocol/server"
import * as C from "./contract.mjs"

// Schemas live at module scope, as the docs advise ("keep the factory cheap").
const echoIn = z.object({ text: z.string() }),
  addIn = z.object({ a: z.number(), b: z.number() }),
  sumOut = z.object({ sum: z.number() }),
  floodIn = z.object({ n: z.number() })
const fillIn = z.object({
  query: z.string().describe(C.queryDescription),
  limit: z.number().optional().describe(C.limitDescription)
})
const make = () => {
  const s = new McpServer(C.info)
  s.registerTool(C.echo.name, { description: C.echo.description, inputSchema: echoIn }, async ({ text }) => ({
    content: [{ type: "text", text }]
  }))
  s.registerTool(
    C.add.name,
    { description: C.add.description, inputSchema: addIn, outputSchema: sumOut },
    async ({ a, b }) => {
      const r = { sum: a + b }
      return { content: [{ type: "text", text: JSON.stringify(r) }], structuredContent: r }
    }
  )
  s.registerTool(C.wait.name, { description: C.wait.description, inputSchema: echoIn }, async ({ text }) => {
    await setTimeout(C.waits)
    return { content: [{ type: "text", text }] }
  })
  s.registerTool(C.flood.name, { description: C.flood.description, inputSchema: floodIn }, async ({ n }, ctx) => {
    const progressToken = ctx.mcpReq._meta?.progressToken
    if (progressToken !== undefined)
      for (let i = 1; i <= n; i++)
        await ctx.mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress: i, total: n } })
    return { content: [{ type: "text", text: "done" }] }
  })
  for (const name of C.fillers)
    s.registerTool(name, { description: C.descriptionOf(name), inputSchema: fillIn }, async () => ({
      content: [{ type: "text", text: "ok" }]
    }))
  s.registerResource(C.resource.name, C.resource.uri, { mimeType: C.resource.mimeType }, async (uri) => ({
    contents: [{ uri: uri.href, mimeType: C.resource.mimeType, text: C.resource.text }]
  }))
  return s
}

if (C.flag("stdio")) {
  const { serveStdio } = await import("@modelcontextprotocol/server/stdio")
  serveStdio(make)
} else {
  const { NodeStreamableHTTPServerTransport, toNodeHandler } = await import("@modelcontextprotocol/node")
  let listener
  if (C.flag("stateful")) {
    const enableJsonResponse = C.flag("json")
    const sessions = new Map()
    listener = async (req, res) => {
      const sid = req.headers["mcp-session-id"]
      if (sid !== undefined) {
        const t = sessions.get(sid)
        if (t === undefined) return void res.writeHead(404).end()
        return t.handleRequest(req, res)
      }
      const transport = new NodeStreamableHTTPServerTransport({
        sessionIdGenerator: () => randomUUID(),
        enableJsonResponse,
        onsessioninitialized: (id) => {
          sessions.set(id, transport)
        }
      })
      transport.onclose = () => {
        if (transport.sessionId) sessions.delete(transport.sessionId)
      }
      await make().connect(transport)
      return transport.handleRequest(req, res)
    }
  } else {
    listener = toNodeHandler(createMcpHandler(make))
  }
  const server = http.createServer(listener)
  server.keepAliveTimeout = 0
  server.listen(0, "127.0.0.1", () => C.ready(server.address().port))
}
