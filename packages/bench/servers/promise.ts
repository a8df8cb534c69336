/** The contract of the bench without Effect: zod and async functions, or plain ones with `--trivial`, over stdio or `node:http`. */
import { McpServer } from "@effect-mcp/promise/McpServer"
import { createServer } from "node:http"
import { setTimeout } from "node:timers/promises"
import { z } from "zod"
import * as C from "../peers/contract.mjs"

const server = new McpServer({ ...C.info, rateLimit: 1e9 })

const text = z.object({ text: z.string() })
const numbers = z.object({ a: z.number(), b: z.number() })
const output = z.object({ sum: z.number() })
const echo = { description: C.echo.description, input: text }
const add = { description: C.add.description, input: numbers, output }
if (C.flag("trivial")) {
  server.tool(C.echo.name, echo, ({ text }) => text)
  server.tool(C.add.name, add, ({ a, b }) => ({ sum: a + b }))
} else {
  server.tool(C.echo.name, echo, async ({ text }) => text)
  server.tool(C.add.name, add, async ({ a, b }) => ({ sum: a + b }))
}

server.tool(C.wait.name, { description: C.wait.description, input: text }, async ({ text }) => {
  await setTimeout(C.waits)
  return text
})

server.tool(
  C.flood.name,
  { description: C.flood.description, input: z.object({ n: z.number() }) },
  async ({ n }, { progress }) => {
    for (let i = 1; i <= n; i++) await progress(i, { total: n })
    return "done"
  }
)

const query = z.object({
  query: z.string().describe(C.queryDescription),
  limit: z.number().optional().describe(C.limitDescription)
})
for (const name of C.fillers) server.tool(name, { description: C.descriptionOf(name), input: query }, async () => "ok")

const { text: contents, uri, ...resource } = C.resource
server.resource(uri, resource, async () => contents)

if (C.flag("stdio")) await server.stdio()
else {
  const listener = server.toListener({ path: "/mcp", sessions: { perAddress: 10_000 } })
  const http = Object.assign(createServer(listener), { keepAliveTimeout: 0 })
  http.listen(0, "127.0.0.1", () => {
    const address = http.address()
    if (typeof address === "object" && address !== null) C.ready(address.port)
  })
}
