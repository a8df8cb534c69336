import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { serve, url, modern } from "./loop.mjs"
const client = new Client(
  { name: "bench", version: "1.0.0" },
  modern ? { versionNegotiation: { mode: { pin: "2026-07-28" } } } : {}
)
await client.connect(new StreamableHTTPClientTransport(new URL(url)))
await client.listTools()
serve((p) => client.callTool(p))
