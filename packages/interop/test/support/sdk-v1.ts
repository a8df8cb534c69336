/** The official TypeScript SDK v1 as a client. */
import { compileCache } from "@effect-mcp/spec/compileCache"
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js"
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js"
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema
} from "@modelcontextprotocol/sdk/types.js"
import { capabilities, clientInfo, type Connector, type Host, type OfficialClient } from "./official.ts"

export const connector: Connector = (host) =>
  connect(
    host,
    new StdioClientTransport({ command: process.execPath, args: [...host.args], env: compileCache, stderr: "ignore" })
  )

/** Connects to a running server over HTTP with SSE. */
export const sseConnector =
  (url: string): Connector =>
  (host) =>
    connect(host, new SSEClientTransport(new URL(url)))

/** Connects to a running server over Streamable HTTP. */
export const httpConnector =
  (url: string): Connector =>
  (host) =>
    connect(host, new StreamableHTTPClientTransport(new URL(url)))

const connect = async ({ answer, notify }: Host, transport: Transport): Promise<OfficialClient> => {
  const client = new Client(clientInfo, { capabilities })
  client.fallbackNotificationHandler = async (notification) => notify(notification)
  client.setRequestHandler(CreateMessageRequestSchema, ({ params }) => answer("sampling/createMessage", params))
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => answer("elicitation/create", params))
  client.setRequestHandler(ListRootsRequestSchema, ({ params }) => answer("roots/list", params))
  await client.connect(transport)
  return {
    getServerCapabilities: () => client.getServerCapabilities(),
    getServerVersion: () => client.getServerVersion(),
    getInstructions: () => client.getInstructions(),
    ping: () => client.ping(),
    listTools: (params) => client.listTools(params),
    allTools: async () => {
      const tools: Array<unknown> = []
      let cursor: string | undefined
      do {
        const page = await client.listTools(cursor === undefined ? {} : { cursor })
        tools.push(...page.tools)
        cursor = page.nextCursor
      } while (cursor !== undefined)
      return tools
    },
    callTool: (name, args, options) =>
      client.callTool(args === undefined ? { name } : { name, arguments: { ...args } }, undefined, options),
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
