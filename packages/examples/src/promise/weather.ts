import { McpServer } from "@effect-mcp/promise"
import { z } from "zod"

const server = new McpServer({ name: "weather", version: "1.0.0" })
const input = z.object({ city: z.string().describe("The name of the city") })
server.tool(
  "weather",
  { description: "The weather of a city", input },
  async ({ city }) => `Sunny in ${city}`
)

await server.stdio()
