/**
 * A server of the official SDK, v1 or v2, with a tool for each thing that a gateway must relay, and a record of its observations.
 */
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js"
import { SubscribeRequestSchema, UnsubscribeRequestSchema } from "@modelcontextprotocol/sdk/types.js"
import { McpServer as McpServerV2 } from "@modelcontextprotocol/server"
import { z } from "zod"

export type Sdk = "v1" | "v2"

/** The common part of both versions, which differ only in types and in the argument of handlers. */
type Server = McpServer

/** The request of a handler, in either version. */
const requestOf = (context: any) =>
  context.mcpReq ?? { notify: context.sendNotification, signal: context.signal, _meta: context._meta }

const text = (value: unknown) => ({ content: [{ type: "text" as const, text: JSON.stringify(value) }] })
const question = (content: any) => ({ messages: [{ role: "user" as const, content }], maxTokens: 9 })

export const experimental = { "example.com/server": { depth: 2 } }
export const uri = "test://news"

const asking = (server: Server): void => {
  const { server: low } = server
  server.registerTool("ask", {}, async () => {
    const events: Array<unknown> = []
    const onprogress = ({ progress, total }: any) => void events.push([progress, total])
    await low.createMessage(question({ type: "text", text: "?" }), { onprogress })
    return text(events)
  })
  server.registerTool("both", {}, async () => {
    const messages = ["left", "right"].map((one) => ({
      role: "user" as const,
      content: { type: "text" as const, text: one }
    }))
    return text(await low.createMessage({ messages, maxTokens: 9 }))
  })
  server.registerTool("list", {}, async () => {
    const content = ["left", "right"].map((one) => ({ type: "text" as const, text: one }))
    return text(await low.createMessage(question(content)))
  })
  server.registerTool("withdraw", {}, async () => {
    const controller = new AbortController()
    const asked = low.createMessage(
      { ...question({ type: "text", text: "?" }), systemPrompt: "wait" },
      { signal: controller.signal, onprogress: () => controller.abort("the tool changed its mind") }
    )
    return text(await asked.catch((error: unknown) => String(error)))
  })
}

const growing = (server: Server): void => {
  const features = {
    tool: (name: string) => server.registerTool(name, {}, () => text(name)),
    prompt: (name: string) => server.registerPrompt(name, {}, () => ({ messages: [] })),
    resource: (name: string) =>
      server.registerResource(name, `test://${name}`, {}, () => ({ contents: [{ uri: `test://${name}`, text: name }] }))
  }
  server.registerTool(
    "register",
    { inputSchema: z.object({ kind: z.enum(["tool", "prompt", "resource"]), name: z.string().default("late") }) },
    ({ kind, name }) => {
      features[kind](`${name}-${kind}`)
      return text("registered")
    }
  )
}

const info = { name: "relayed", version: "1.0.0" }
const options = { capabilities: { experimental, logging: {}, prompts: {}, resources: { subscribe: true } } }

export const make = (sdk: Sdk): Server => {
  const server = sdk === "v1" ? new McpServer(info, options) : (new McpServerV2(info, options) as unknown as Server)
  const { server: low } = server
  let reason: unknown = "not cancelled"
  const subscribed: Array<string> = []
  server.registerTool("hang", {}, (context: any) => {
    const { notify, signal, _meta } = requestOf(context)
    signal.addEventListener("abort", () => {
      reason = signal.reason
      void server.server.sendPromptListChanged()
    })
    const progressToken = _meta?.progressToken
    void notify({ method: "notifications/progress", params: { progressToken, progress: 1 } })
    return new Promise(() => {})
  })
  server.registerTool("reason", {}, () => text(reason))
  server.registerTool("steps", {}, async (context: any) => {
    const { notify, _meta } = requestOf(context)
    for (const progress of [1, 2, 3]) {
      const params = { progressToken: _meta?.progressToken, progress, total: 3 }
      await notify({ method: "notifications/progress", params })
    }
    return text("done")
  })
  server.registerTool("meta", {}, (context: any) => text(requestOf(context)._meta ?? null))
  server.registerTool("declared", {}, () => text(low.getClientCapabilities() ?? null))
  server.registerTool("talk", {}, async (context: any) => {
    await requestOf(context).notify({ method: "notifications/message", params: { level: "info", data: "during" } })
    return text("said")
  })
  server.registerTool("update", {}, async () => {
    await low.sendResourceUpdated({ uri })
    return text(subscribed)
  })
  server.registerResource("news", uri, {}, () => ({ contents: [{ uri, text: "news" }] }))
  server.registerPrompt("early", {}, () => ({ messages: [] }))
  const subscriptions = [
    ["+", SubscribeRequestSchema, "resources/subscribe"],
    ["-", UnsubscribeRequestSchema, "resources/unsubscribe"]
  ] as const
  for (const [sign, schema, method] of subscriptions) {
    // The second version expects the name of the method instead of its schema.
    low.setRequestHandler(sdk === "v1" ? schema : (method as any), ({ params }: any) => {
      subscribed.push(`${sign}${params.uri}`)
      return {}
    })
  }
  asking(server)
  growing(server)
  return server
}
