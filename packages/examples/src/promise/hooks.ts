import { McpError, McpServer } from "@effect-mcp/promise"

export const server = new McpServer({ name: "counters", version: "1.0.0" })

server.tool("reset", { description: "Resets the counters" }, () => "Done")

server.use({
  before: ({ method }, { principal }) => {
    if (method === "tools/call" && principal.subject === undefined)
      throw new McpError(-32600, "Log in first")
  },
  after: ({ method }, { kind }) => console.error(`${method}: ${kind}`)
})
