/**
 * One node of the library: `node library-node.ts SCHEMA`. Prints its port on
 * stdout.
 */
import { McpServer } from "@effect-mcp/server"
import { createServer } from "node:http"
import { library } from "./library.ts"

const { close, listener } = McpServer.toNodeListener(
  library(process.argv[2] ?? "public"),
  { path: "/mcp" }
)
const http = createServer(listener).listen(0, "127.0.0.1", () => {
  const address = http.address()
  if (typeof address === "object") process.stdout.write(`${address?.port}\n`)
})
process.once("SIGTERM", () => close(http))
