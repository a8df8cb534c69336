import { McpServer } from "@effect-mcp/promise"

const server = new McpServer({ name: "whoami", version: "1.0.0" })

server.tool(
  "whoami",
  { description: "Says which user calls" },
  (_, { principal }) => principal.subject
)

const tokens = new Map([
  ["secret-of-ada", { subject: "ada", scopes: ["admin"] }]
])

const { url } = await server.listen({
  port: Number(process.env["PORT"] ?? 3000),
  auth: {
    verify: async (token) =>
      token === undefined ? undefined : tokens.get(token)
  }
})
console.log(url)
