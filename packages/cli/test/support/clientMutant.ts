/** A client that follows the conformance suite's convention but uses the same id for all requests: `clientMutant.ts URL`. */
const url = process.argv[2] ?? ""
const version = process.env["MCP_CONFORMANCE_PROTOCOL_VERSION"] ?? ""
let session: Record<string, string> = {}

const post = async (message: object): Promise<Response> => {
  const headers = { accept: "application/json, text/event-stream", "content-type": "application/json", ...session }
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify({ jsonrpc: "2.0", ...message }) })
  if (!response.ok) throw new Error(`status ${response.status}`)
  return response
}

const params = { protocolVersion: version, capabilities: {}, clientInfo: { name: "mutant", version: "1" } }
const opened = await post({ id: 1, method: "initialize", params })
session = { "mcp-protocol-version": version, "mcp-session-id": opened.headers.get("mcp-session-id") ?? "" }
await post({ method: "notifications/initialized" })
await post({ id: 7, method: "tools/list" })
await post({ id: 7, method: "tools/call", params: { name: "add_numbers", arguments: { a: 1, b: 2 } } })
await fetch(url, { method: "DELETE", headers: session })
