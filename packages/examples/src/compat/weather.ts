import { McpServer } from "@effect-mcp/compat/server"
import { StdioServerTransport } from "@effect-mcp/compat/server/stdio"
import { z } from "zod"

const server = new McpServer({ name: "weather", version: "1.0.0" })

server.registerTool(
  "weather",
  {
    description: "The weather of a city",
    inputSchema: z.object({ city: z.string() })
  },
  async ({ city }) => ({
    content: [{ type: "text", text: `Sunny in ${city}` }]
  })
)

await server.connect(new StdioServerTransport())
