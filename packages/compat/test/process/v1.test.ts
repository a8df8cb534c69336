/** Programs for the SDK v1 run on the official SDK and on the shim: the same conversation has the same results on both. */
import type { Client } from "@effect-mcp/compat/v1/client/index.js"
import type { SSEServerTransport } from "@effect-mcp/compat/v1/server/sse.js"
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { fileURLToPath } from "node:url"
import { comparable } from "../support/comparable.ts"
import { listening } from "../support/listening.ts"
import { clientV1, serverV1 } from "../support/modules.ts"
import { clientOf, type Made, makes, type Setting, talks } from "../support/v1.ts"

type Connect = (setting: Setting) => Promise<Client>

/** Both ends use the transport of the client's kind, because a server accepts any. */
const memory: Connect = async ({ client: kind, made, server }) => {
  const { InMemoryTransport } = await serverV1(kind)
  const [near, far] = InMemoryTransport.createLinkedPair()
  await makes[made](await serverV1(server)).connect(far)
  const client = clientOf(await clientV1(kind))
  await client.connect(near)
  return client
}

const fixture = fileURLToPath(new URL("../fixtures/serve-v1.ts", import.meta.url))

const stdio: Connect = async ({ client: kind, made, server }) => {
  const sdk = await clientV1(kind)
  const client = clientOf(sdk)
  const args = [fixture, server, made]
  await client.connect(new sdk.StdioClientTransport({ command: process.execPath, args, stderr: "ignore" }))
  return client
}

/** One transport of one session on `node:http`. */
const http: Connect = async ({ client: kind, made, server }) => {
  const sdk = await serverV1(server)
  const transport = new sdk.StreamableHTTPServerTransport({ sessionIdGenerator: () => crypto.randomUUID() })
  await makes[made](sdk).connect(transport)
  const origin = await listening((request, response) => void transport.handleRequest(request, response))
  onTestFinished(() => transport.close())
  const sdkOfClient = await clientV1(kind)
  const client = clientOf(sdkOfClient)
  await client.connect(new sdkOfClient.StreamableHTTPClientTransport(new URL("/mcp", origin)))
  return client
}

/** A stream for each client, and a path for posting messages. */
const sse: Connect = async ({ client: kind, made, server }) => {
  const sdk = await serverV1(server)
  const sessions = new Map<string | null, SSEServerTransport>()
  const origin = await listening((request, response) => {
    if (request.method === "GET") {
      const transport = new sdk.SSEServerTransport("/messages", response)
      sessions.set(transport.sessionId, transport)
      void makes[made](sdk).connect(transport)
    } else {
      const { searchParams } = new URL(request.url ?? "", "http://localhost")
      void sessions.get(searchParams.get("sessionId"))?.handlePostMessage(request, response)
    }
  })
  const sdkOfClient = await clientV1(kind)
  const client = clientOf(sdkOfClient)
  await client.connect(new sdkOfClient.SSEClientTransport(new URL("/sse", origin)))
  return client
}

const connections = { http, memory, sse, stdio }
type ConnectionName = keyof typeof connections

const converse = async (connection: ConnectionName, setting: Setting): Promise<unknown> => {
  const client = await connections[connection](setting)
  try {
    return comparable(await talks[setting.made](client, await clientV1(setting.client)))
  } finally {
    await client.close()
  }
}

const pairs = [
  ["official", "shim"],
  ["shim", "official"],
  ["shim", "shim"]
] as const

const settings = (["registered", "handled"] as const satisfies ReadonlyArray<Made>).flatMap((made) =>
  (["memory", "stdio", "http", "sse"] as const).flatMap((connection) =>
    pairs.map(([client, server]) => ({ connection, made, client, server }))
  )
)

describe("SDK v1 programs", () => {
  it.each(settings)(
    "$made over $connection: the $client client sees the same on the $server server as with the SDK",
    async ({ connection, ...setting }) => {
      const oracle = await converse(connection, { client: "official", server: "official", made: setting.made })
      assert.deepStrictEqual(await converse(connection, setting), oracle)
    }
  )
})
