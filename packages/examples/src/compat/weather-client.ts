import { Client } from "@effect-mcp/compat/client"
import { StdioClientTransport } from "@effect-mcp/compat/client/stdio"

const client = new Client(
  { name: "example", version: "1.0.0" },
  { versionNegotiation: { mode: "auto" } }
)
const args = [import.meta.filename.replace("-client", "")]
await client.connect(new StdioClientTransport({ command: "node", args }))

const { content } = await client.callTool({
  name: "weather",
  arguments: { city: "Oslo" }
})
console.log(content, "over MCP", client.getNegotiatedProtocolVersion())
await client.close()
