/** The official TypeScript SDK v2 as a client. */
import { compileCache } from "@effect-mcp/spec/compileCache"
import { Client, StreamableHTTPClientTransport, type Transport } from "@modelcontextprotocol/client"
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio"
import { capabilities, clientInfo, type Connector, type Host, type OfficialClient } from "./official.ts"

export const connector: Connector = (host) =>
  connect(
    host,
    new StdioClientTransport({ command: process.execPath, args: [...host.args], env: compileCache, stderr: "ignore" })
  )

/** Connects to a running server over Streamable HTTP. */
export const httpConnector =
  (url: string): Connector =>
  (host) =>
    connect(host, new StreamableHTTPClientTransport(new URL(url)))

const connect = async ({ answer, notify }: Host, transport: Transport): Promise<OfficialClient> => {
  const client = new Client(clientInfo, { capabilities })
  client.fallbackNotificationHandler = async (notification) => notify(notification)
  client.setRequestHandler("sampling/createMessage", ({ params }) => answer("sampling/createMessage", params))
  client.setRequestHandler("elicitation/create", ({ params }) => answer("elicitation/create", params))
  client.setRequestHandler("roots/list", ({ params }) => answer("roots/list", params))
  await client.connect(transport)
  return {
    getServerCapabilities: () => client.getServerCapabilities(),
    getServerVersion: () => client.getServerVersion(),
    getInstructions: () => client.getInstructions(),
    ping: () => client.ping(),
    listTools: (params) => client.listTools(params),
    allTools: async () => (await client.listTools()).tools,
    callTool: (name, args, options) =>
      client.callTool(args === undefined ? { name } : { name, arguments: { ...args } }, options),
    listResources: () => client.listResources(),
    listResourceTemplates: () => client.listResourceTemplates(),
    readResource: (params) => client.readResource(params),
    subscribeResource: (params) => client.subscribeResource(params),
    unsubscribeResource: (params) => client.unsubscribeResource(params),
    listPrompts: () => client.listPrompts(),
    getPrompt: (params) => client.getPrompt(params),
    complete: (params) => client.complete(params),
    setLoggingLevel: (level) => client.setLoggingLevel(level),
    sendRootsListChanged: () => client.sendRootsListChanged(),
    close: () => client.close()
  }
}
