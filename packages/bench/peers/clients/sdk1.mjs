import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import { serve, url } from "./loop.mjs"
const client = new Client({ name: "bench", version: "1.0.0" })
await client.connect(new StreamableHTTPClientTransport(new URL(url)))
await client.listTools()
serve((p) => client.callTool(p))
