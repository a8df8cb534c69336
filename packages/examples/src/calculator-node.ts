import { Tools } from "@effect-mcp/core"
import { McpServer } from "@effect-mcp/server"
import { Effect } from "effect"
import { createServer } from "node:http"
import { Add } from "./calculator.ts"

const add = Tools.layer(Add, ({ a, b }) => Effect.succeed({ sum: a + b }))

const server = McpServer.layer({
  name: "calculator",
  version: "1.0.0",
  features: add
})

const { close, listener } = McpServer.toNodeListener(server, { path: "/mcp" })

const http = createServer(listener)
http.listen(Number(process.env.PORT ?? 3000), "127.0.0.1", () =>
  console.log(http.address())
)
process.once("SIGTERM", () => close(http))
