/** The sources of a project with promises. */

const greeter = (name: string): string => `import { McpServer } from "@effect-mcp/promise"
import { z } from "zod"

export const server = new McpServer({ name: ${JSON.stringify(name)}, version: "0.1.0" })

server.tool(
  "greet",
  {
    description: "Greets a person by name",
    input: z.object({ name: z.string() }),
    output: z.object({ greeting: z.string() })
  },
  async ({ name }) => ({ greeting: \`Hello, \${name}\` })
)
`

const stdio = `import { server } from "./greeter.ts"

await server.stdio()
`

const http = `import { server } from "./greeter.ts"

const { url } = await server.listen({ port: Number(process.env["PORT"] ?? 3000) })
console.log(url)
`

const test = `import { McpClient, type Revision } from "@effect-mcp/promise"
import assert from "node:assert/strict"
import { test } from "node:test"
import { server } from "../src/greeter.ts"

const revisions: ReadonlyArray<Revision> = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"]

for (const revision of revisions) {
  test(\`greet greets by name (\${revision})\`, async () => {
    await using client = await McpClient.connect(server, { revisions: [revision] })
    const { content } = await client.callTool("greet", { name: "Ada" })
    assert.deepEqual(content, [{ type: "text", text: '{"greeting":"Hello, Ada"}' }])
  })
}
`

/** Returns the sources by their paths in the project. */
export const files = (project: {
  readonly name: string
  readonly http: boolean
}): { readonly [path: string]: string } => ({
  "src/greeter.ts": greeter(project.name),
  "src/server.ts": project.http ? http : stdio,
  "test/greeter.test.ts": test
})
