/** The official clients use a third-party extension only by its names on the wire. */
import { compileCache } from "@effect-mcp/spec/compileCache"
import { Client, type ClientOptions } from "@modelcontextprotocol/client"
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio"
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js"
import { StdioClientTransport as StdioV1 } from "@modelcontextprotocol/sdk/client/stdio.js"
import * as Revision from "@effect-mcp/protocol/Revision"
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { fileURLToPath } from "node:url"
import * as z from "zod"
import { clientInfo } from "../support/official.ts"

const server = fileURLToPath(new URL("../../../examples/src/meter/server.ts", import.meta.url))
const parameters = { command: process.execPath, args: [server], env: compileCache, stderr: "ignore" as const }

const settings = { "com.acme/meter": { budget: 2 } }
const Spent = z.object({ total: z.number() })
const spent = { method: "com.acme/meter/spent", params: {} }
const charged = "notifications/com.acme/meter/charged"
const add = { name: "add", arguments: { a: 1, b: 2 } }

interface Used {
  readonly callTool: () => Promise<unknown>
  readonly spent: () => Promise<{ readonly total: number }>
  /** The totals in notifications. */
  readonly told: ReadonlyArray<unknown>
}

/** Uses up the budget, and makes one more call. */
const exhaust = async ({ callTool, spent, told }: Used): Promise<void> => {
  await callTool()
  await callTool()
  const refusal: unknown = await callTool().then(
    () => undefined,
    (error: unknown) => error
  )
  assert.include(String(refusal), "The budget of 2 is spent")
  assert.strictEqual((await spent()).total, 2)
  assert.deepStrictEqual(told, [1, 2])
}

const optionsIn = ({ era, rules, version }: Revision.Revision): ClientOptions => ({
  capabilities: { [rules.extensions]: settings },
  ...(era === "stateless"
    ? { versionNegotiation: { mode: { pin: version } } }
    : { supportedProtocolVersions: [version] })
})

describe.each(Revision.all)("Official SDK v2 clients in $version", (revision) => {
  it("The SDK v2 client sends an extension request, receives its notifications and triggers its tools/call hook", async () => {
    const client = new Client(clientInfo, optionsIn(revision))
    const told: Array<unknown> = []
    client.setNotificationHandler(charged, { params: z.object({ total: z.number() }) }, ({ total }) => {
      told.push(total)
    })
    onTestFinished(() => client.close())
    await client.connect(new StdioClientTransport(parameters))
    assert.strictEqual(client.getNegotiatedProtocolVersion(), revision.version)
    assert.deepStrictEqual(client.getServerCapabilities()?.[revision.rules.extensions], { "com.acme/meter": {} })
    await exhaust({ callTool: () => client.callTool(add), spent: () => client.request(spent, Spent), told })
  })
})

describe("Official SDK v1 clients in 2025-11-25", () => {
  it("The SDK v1 client sends an extension request, receives its notifications and triggers its tools/call hook", async () => {
    const client = new ClientV1(clientInfo, { capabilities: { experimental: settings } })
    const told: Array<unknown> = []
    client.fallbackNotificationHandler = async ({ method, params }) => {
      if (method === charged) told.push(params?.total)
    }
    onTestFinished(() => client.close())
    await client.connect(new StdioV1(parameters))
    assert.deepStrictEqual(client.getServerCapabilities()?.experimental, { "com.acme/meter": {} })
    await exhaust({ callTool: () => client.callTool(add), spent: () => client.request(spent, Spent), told })
  })
})
