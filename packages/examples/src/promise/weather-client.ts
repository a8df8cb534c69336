import { McpClient } from "@effect-mcp/promise"

await using client = await McpClient.connect({
  command: "node",
  args: [`${import.meta.dirname}/weather.ts`]
})

for await (const tool of client.listTools())
  console.log(tool.name, "-", tool.description)

const { content } = await client.callTool("weather", { city: "Oslo" })
console.log(content, "over MCP", client.revision)
