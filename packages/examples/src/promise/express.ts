import { McpServer } from "@effect-mcp/promise"
import express from "express"

const server = new McpServer({ name: "hello", version: "1.0.0" })
server.tool("hello", { description: "Says hello" }, () => "Hello")

const app = express()
app.use("/mcp", server.toListener())

const http = app.listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1", () =>
  console.log(http.address())
)
process.once("SIGTERM", () => server.close().then(() => http.close()))
