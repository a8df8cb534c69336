import { Tool, Tools } from "@effect-mcp/core"
import { McpServer } from "@effect-mcp/server"
import { Effect } from "effect"

const Hello = Tool.make("hello", { description: "Greets the user." })
const features = Tools.layer(Hello, () => Effect.succeed("Hello"))
const server = McpServer.layer({ name: "hello", version: "1.0.0", features })

const { handler } = McpServer.toWebHandler(server, {
  path: "/mcp",
  sessions: false,
  allowedHosts: ["hello.example.workers.dev"]
})

export default { fetch: (request: Request) => handler(request) }
