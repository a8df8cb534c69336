import { McpServer } from "@effect-mcp/promise"
import { Hono } from "hono"

const server = new McpServer({ name: "hello", version: "1.0.0" })
server.tool("hello", { description: "Says hello" }, () => "Hello")

const handler = server.toFetch({ sessions: false })

const app = new Hono()
app.all("/mcp", ({ req }) => handler(req.raw))

export default app
