/** Straight on `node:http`. */
import * as McpServer from "@effect-mcp/server/McpServer"
import { createServer } from "node:http"
import * as C from "../peers/contract.mjs"
import { server } from "./features.ts"

const { listener } = McpServer.toNodeListener(server, { path: "/mcp", sessions: { perAddress: 10_000 } })
// Node closes idle connections after 5 seconds, which is none of what is measured.
const http = Object.assign(createServer(listener), { keepAliveTimeout: 0 })
http.listen(0, "127.0.0.1", () => {
  const address = http.address()
  if (typeof address === "object" && address !== null) C.ready(address.port)
})
