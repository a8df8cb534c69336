// The limit of a client: node:http with keep-alive and JSON, no protocol library.
import * as http from "node:http"
import { modern, serve, url } from "./loop.mjs"

const { hostname, pathname: path, port } = new URL(url)
const agent = new http.Agent({ keepAlive: true, maxSockets: 64 })
const version = modern ? "2026-07-28" : "2025-11-25"
const declared = {
  "io.modelcontextprotocol/protocolVersion": version,
  "io.modelcontextprotocol/clientInfo": { name: "driver", version: "1.0.0" },
  "io.modelcontextprotocol/clientCapabilities": {}
}
let session
let id = 0

const post = (message, more) =>
  new Promise((resolve, reject) => {
    const body = JSON.stringify({ jsonrpc: "2.0", ...message })
    const headers = {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": version,
      "content-length": Buffer.byteLength(body),
      ...more
    }
    if (session !== undefined) headers["mcp-session-id"] = session
    const request = http.request({ agent, hostname, port, path, method: "POST", headers }, (response) => {
      const parts = []
      response.on("data", (part) => parts.push(part))
      response.on("end", () => resolve({ headers: response.headers, body: Buffer.concat(parts).toString() }))
    })
    request.on("error", reject)
    request.end(body)
  })

if (!modern) {
  const clientInfo = { name: "driver", version: "1.0.0" }
  const params = { protocolVersion: version, capabilities: {}, clientInfo }
  const { headers } = await post({ id: ++id, method: "initialize", params })
  session = headers["mcp-session-id"]
  await post({ method: "notifications/initialized" })
}
serve(async (params) => {
  const k = ++id
  const method = "tools/call"
  const said = modern ? { ...params, _meta: declared } : params
  const { body } = await post(
    { id: k, method, params: said },
    modern ? { "mcp-method": method, "mcp-name": params.name } : {}
  )
  const answer = JSON.parse(body)
  if (answer.id !== k) throw new Error(body)
  return answer.result
})
