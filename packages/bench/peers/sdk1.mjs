// Official SDK v1: Streamable HTTP stateful / stateless, and stdio.
import * as http from "node:http"
import { randomUUID } from "node:crypto"
import { setTimeout } from "node:timers/promises"
import { z } from "zod"
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js"
import * as C from "./contract.mjs"

const echoIn = { text: z.string() },
  addIn = { a: z.number(), b: z.number() },
  sumOut = { sum: z.number() },
  floodIn = { n: z.number() }
const fillIn = {
  query: z.string().describe(C.queryDescription),
  limit: z.number().optional().describe(C.limitDescription)
}
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
  s.registerTool(C.flood.name, { description: C.flood.description, inputSchema: floodIn }, async ({ n }, extra) => {
    const progressToken = extra._meta?.progressToken
    if (progressToken !== undefined)
      for (let i = 1; i <= n; i++)
        await extra.sendNotification({
          method: "notifications/progress",
          params: { progressToken, progress: i, total: n }
        })
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
  const { StdioServerTransport } = await import("@modelcontextprotocol/sdk/server/stdio.js")
  await make().connect(new StdioServerTransport())
} else {
  const { StreamableHTTPServerTransport } = await import("@modelcontextprotocol/sdk/server/streamableHttp.js")
  const stateless = C.flag("stateless")
  const enableJsonResponse = C.flag("json")
  const sessions = new Map()
  const server = http.createServer(async (req, res) => {
    if (stateless) {
      const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined, enableJsonResponse })
      const s = make()
      res.on("close", () => {
        transport.close()
        s.close()
      })
      await s.connect(transport)
      return transport.handleRequest(req, res)
    }
    const sid = req.headers["mcp-session-id"]
    if (sid !== undefined) {
      const t = sessions.get(sid)
      if (t === undefined) return void res.writeHead(404).end()
      return t.handleRequest(req, res)
    }
    const transport = new StreamableHTTPServerTransport({
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
  })
  server.keepAliveTimeout = 0
  server.listen(0, "127.0.0.1", () => C.ready(server.address().port))
}
