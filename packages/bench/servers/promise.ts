/** The contract of the bench without Effect: plain functions, or with `--async` async ones, and zod; on stdio or on `node:http`. */
import { McpServer } from "@effect-mcp/promise/McpServer"
import { createServer } from "node:http"
import { z } from "zod"
import * as C from "../peers/contract.mjs"

const server = new McpServer({ ...C.info, rateLimit: 1e9 })

/** The same value at once, or as the promise of an async function. */
const given = C.flag("async") ? async <A>(value: A) => value : <A>(value: A) => value

server.tool(C.echo.name, { description: C.echo.description, input: z.object({ text: z.string() }) }, ({ text }) =>
  given(text)
)

const numbers = z.object({ a: z.number(), b: z.number() })
const output = z.object({ sum: z.number() })
server.tool(C.add.name, { description: C.add.description, input: numbers, output }, ({ a, b }) => given({ sum: a + b }))

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

const { text, uri, ...resource } = C.resource
server.resource(uri, resource, async () => text)

if (C.flag("stdio")) await server.stdio()
else {
  const listener = server.toListener({ path: "/mcp", sessions: { perAddress: 10_000 } })
  const http = Object.assign(createServer(listener), { keepAliveTimeout: 0 })
  http.listen(0, "127.0.0.1", () => {
    const address = http.address()
    if (typeof address === "object" && address !== null) C.ready(address.port)
  })
}
