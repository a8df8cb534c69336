/** Connects a client to a program of the SDK v2. */
import type { Client } from "@effect-mcp/compat/client"
import { fileURLToPath } from "node:url"
import { clientV2, type Kind, serverV2 } from "./modules.ts"
import { programs } from "./programs.ts"

export type Era = "legacy" | "modern"

export interface Setting {
  readonly client: Kind
  readonly server: Kind
  readonly program: string
  readonly era: Era
}

/** A client that answers every question. It is not connected yet. */
export const clientOf = async ({ client, era }: Pick<Setting, "client" | "era">): Promise<Client> => {
  const { Client } = await clientV2(client)
  const made = new Client(
    { name: "tester", version: "1.0.0" },
    {
      capabilities: { elicitation: { form: {} }, sampling: {} },
      versionNegotiation: { mode: era === "modern" ? "auto" : "legacy" }
    }
  )
  made.setRequestHandler("elicitation/create", async () => ({ action: "accept", content: { name: "Ada" } }))
  made.setRequestHandler("sampling/createMessage", async () => ({
    role: "assistant",
    content: { type: "text", text: "Hello" },
    model: "canned"
  }))
  return made
}

type Connect = (setting: Setting) => Promise<Client>

const fixture = fileURLToPath(new URL("../fixtures/serve-v2.ts", import.meta.url))

const stdio: Connect = async (setting) => {
  const { StdioClientTransport } = await clientV2(setting.client)
  const client = await clientOf(setting)
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [fixture, setting.server, setting.program],
      stderr: "ignore"
    })
  )
  return client
}

const url = new URL("http://localhost/mcp")

/** `createMcpHandler`: each request is served by itself. */
const handler: Connect = async (setting) => {
  const { createMcpHandler, ...sdk } = await serverV2(setting.server)
  const { StreamableHTTPClientTransport } = await clientV2(setting.client)
  const { fetch } = createMcpHandler(programOf(setting.program)({ createMcpHandler, ...sdk }))
  const client = await clientOf(setting)
  await client.connect(
    new StreamableHTTPClientTransport(url, { fetch: async (input, init) => fetch(new Request(input, init)) })
  )
  return client
}

/** A transport with one session, for clients with a handshake. */
const session: Connect = async (setting) => {
  const sdk = await serverV2(setting.server)
  const { StreamableHTTPClientTransport } = await clientV2(setting.client)
  const transport = new sdk.WebStandardStreamableHTTPServerTransport({ sessionIdGenerator: () => crypto.randomUUID() })
  await programOf(setting.program)(sdk)({ era: "legacy" }).connect(transport)
  const client = await clientOf(setting)
  await client.connect(
    new StreamableHTTPClientTransport(url, {
      fetch: async (input, init) => transport.handleRequest(new Request(input, init))
    })
  )
  return client
}

export const programOf = (name: string) => {
  const program = programs[name]
  if (program === undefined) throw new Error(`There is no program ${name}`)
  return program
}

export const connections = { handler, session, stdio }
export type ConnectionName = keyof typeof connections
