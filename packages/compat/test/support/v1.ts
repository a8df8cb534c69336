/** A server written for the SDK v1 that uses most of its API, and the view of a v1 client. */
import type { Client } from "@effect-mcp/compat/v1/client/index.js"
import { z as z3 } from "zod/v3"
import { z } from "zod"
import type { Kind, V1, V1ClientModule } from "./modules.ts"

const text = (text: string) => ({ content: [{ type: "text" as const, text }] })

/** Registers features through both the older and the newer methods, with fields of zod 3 and 4. */
export const registered = ({ completable, EmptyResultSchema, McpError, McpServer, ResourceTemplate }: V1) => {
  const server = new McpServer(
    { name: "v1", version: "1.0.0" },
    { capabilities: { logging: {} }, instructions: "Ask." }
  )
  server.tool("plain", async () => text("Plain"))
  server.tool("described", "Has a description", async () => text("Described"))
  server.tool("greet", "Greets", { name: z.string(), times: z.number().optional() }, async ({ name, times }) =>
    text(`${name} ${times ?? 1}`)
  )
  server.tool(
    "old",
    "Of zod 3",
    { name: z3.string().describe("Who"), loud: z3.boolean().default(false) },
    { readOnlyHint: true },
    async ({ name, loud }) => text(loud ? name.toUpperCase() : name)
  )
  server.registerTool(
    "sum",
    { inputSchema: { a: z.number(), b: z.number() }, outputSchema: { sum: z.number() } },
    async ({ a, b }) => ({ ...text(String(a + b)), structuredContent: { sum: a + b } })
  )
  server.tool("extra", async ({ _meta, requestId, sendNotification, sendRequest, sessionId, signal }) => {
    const progressToken = _meta?.progressToken
    if (progressToken !== undefined) {
      await sendNotification({ method: "notifications/progress", params: { progressToken, progress: 1, total: 2 } })
    }
    await sendNotification({ method: "notifications/message", params: { level: "info", data: "noted" } })
    // The official client drops progress that it reads together with the result. This request is answered in between.
    await sendRequest({ method: "ping" }, EmptyResultSchema)
    return text(`${typeof requestId} ${typeof sessionId} ${signal.aborted}`)
  })
  server.tool("ask", async () => {
    const asked = await server.server.elicitInput({
      message: "Who?",
      requestedSchema: { type: "object", properties: { name: { type: "string" } } }
    })
    const { content } = await server.server.createMessage({
      messages: [{ role: "user", content: { type: "text", text: "Hi" } }],
      maxTokens: 5
    })
    const { roots } = await server.server.listRoots()
    return text(JSON.stringify([asked, content, roots]))
  })
  server.tool("client", async () =>
    text(JSON.stringify([server.server.getClientVersion()?.name, server.server.getClientCapabilities()?.roots]))
  )
  server.resource("config", "config://app", async (uri) => ({ contents: [{ uri: uri.href, text: "{}" }] }))
  server.resource(
    "user",
    new ResourceTemplate("users://{id}", { list: undefined }),
    { description: "A user" },
    async (uri, { id }) => {
      if (id === "none") throw new McpError(-32_002, "No such user", { id })
      return { contents: [{ uri: uri.href, text: `User ${String(id)}` }] }
    }
  )
  server.prompt(
    "trip",
    "Plans a trip",
    { city: completable(z.string(), (start) => [`${start}o`, `${start}a`]) },
    ({ city }) => ({
      messages: [{ role: "user", content: { type: "text", text: `To ${city}` } }]
    })
  )
  return server
}

/** A server with handlers by method, like most v1 servers. */
export const handled = ({ CallToolRequestSchema, ListToolsRequestSchema, McpError, Server }: V1) => {
  const server = new Server({ name: "handled", version: "1.0.0" }, { capabilities: { tools: {} } })
  server.setRequestHandler(ListToolsRequestSchema, async () => ({
    tools: [{ name: "echo", inputSchema: { type: "object" } }]
  }))
  server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
    if (params.name !== "echo") throw new McpError(-32_602, `No tool ${params.name}`)
    return text(JSON.stringify(params.arguments))
  })
  server.setRequestHandler(z.object({ method: z.literal("acme/ping") }), async () => ({ pong: true }))
  return server
}

export const makes = { handled, registered }
export type Made = keyof typeof makes

/** A client of v1 that answers every question. It is not connected yet. */
export const clientOf = ({
  Client,
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema
}: V1ClientModule) => {
  const capabilities = { elicitation: {}, sampling: {}, roots: { listChanged: true } }
  const client = new Client({ name: "tester", version: "1.0.0" }, { capabilities })
  client.setRequestHandler(ElicitRequestSchema, async () => ({ action: "accept", content: { name: "Ada" } }))
  client.setRequestHandler(CreateMessageRequestSchema, async () => ({
    role: "assistant",
    content: { type: "text", text: "Hello" },
    model: "canned"
  }))
  client.setRequestHandler(ListRootsRequestSchema, async () => ({ roots: [{ uri: "file:///work" }] }))
  return client
}

const failed = async (request: Promise<unknown>) => {
  try {
    return { value: await request }
  } catch (error) {
    const { code, data, name } = Object(error)
    return { name, code, data }
  }
}

const withRegistered = async (client: Client, { LoggingMessageNotificationSchema }: V1ClientModule) => {
  const logs: Array<unknown> = []
  client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => void logs.push(params.data))
  const progress: Array<unknown> = []
  return {
    server: client.getServerVersion(),
    capabilities: client.getServerCapabilities(),
    instructions: client.getInstructions(),
    tools: (await client.listTools()).tools,
    plain: await client.callTool({ name: "plain" }),
    described: await client.callTool({ name: "described", arguments: {} }),
    greet: await client.callTool({ name: "greet", arguments: { name: "Ada" } }),
    old: await client.callTool({ name: "old", arguments: { name: "Ada", loud: true } }),
    sum: await client.callTool({ name: "sum", arguments: { a: 1, b: 2 } }),
    unknown: await client.callTool({ name: "unknown" }),
    invalid: (await client.callTool({ name: "greet", arguments: {} })).isError,
    extra: await client.callTool({ name: "extra" }, undefined, {
      onprogress: (event) => void progress.push(event.total)
    }),
    heard: [logs, progress],
    ask: await client.callTool({ name: "ask" }),
    client: await client.callTool({ name: "client" }),
    resources: await client.listResources(),
    templates: await client.listResourceTemplates(),
    config: await client.readResource({ uri: "config://app" }),
    user: await client.readResource({ uri: "users://7" }),
    none: await failed(client.readResource({ uri: "users://none" })),
    prompts: await client.listPrompts(),
    trip: await client.getPrompt({ name: "trip", arguments: { city: "Oslo" } }),
    completed: await client.complete({
      ref: { type: "ref/prompt", name: "trip" },
      argument: { name: "city", value: "Osl" }
    }),
    ping: await client.ping()
  }
}

const withHandled = async (client: Client, { CallToolResultSchema, ListToolsResultSchema }: V1ClientModule) => ({
  capabilities: client.getServerCapabilities(),
  list: await client.request({ method: "tools/list" }, ListToolsResultSchema),
  echo: await client.request(
    { method: "tools/call", params: { name: "echo", arguments: { a: 1 } } },
    CallToolResultSchema
  ),
  unknown: await failed(client.callTool({ name: "unknown" })),
  custom: await client.request({ method: "acme/ping" }, z.object({ pong: z.boolean() })),
  none: await failed(client.request({ method: "acme/none" }, z.object({})))
})

export const talks = { handled: withHandled, registered: withRegistered }

/** The kind of each side, and the program. */
export interface Setting {
  readonly client: Kind
  readonly server: Kind
  readonly made: Made
}
