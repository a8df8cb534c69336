/** A server of the official SDK v1 whose tools do, each, one thing that a gateway has to carry; and what it has seen. */
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js"
import { SubscribeRequestSchema, UnsubscribeRequestSchema } from "@modelcontextprotocol/sdk/types.js"
import { z } from "zod"

const text = (value: unknown) => ({ content: [{ type: "text" as const, text: JSON.stringify(value) }] })
const question = (content: any) => ({ messages: [{ role: "user" as const, content }], maxTokens: 9 })

export const experimental = { "example.com/server": { depth: 2 } }
export const uri = "test://news"

const asking = (server: McpServer): void => {
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

const growing = (server: McpServer): void => {
  const features = {
    tool: (name: string) => server.registerTool(name, {}, () => text(name)),
    prompt: (name: string) => server.registerPrompt(name, {}, () => ({ messages: [] })),
    resource: (name: string) =>
      server.registerResource(name, `test://${name}`, {}, () => ({ contents: [{ uri: `test://${name}`, text: name }] }))
  }
  server.registerTool(
    "register",
    { inputSchema: { kind: z.enum(["tool", "prompt", "resource"]), name: z.string().default("late") } },
    ({ kind, name }) => {
      features[kind](`${name}-${kind}`)
      return text("registered")
    }
  )
}

export const make = (): McpServer => {
  const server = new McpServer(
    { name: "relayed", version: "1.0.0" },
    { capabilities: { experimental, logging: {}, prompts: {}, resources: { subscribe: true } } }
  )
  const { server: low } = server
  let reason: unknown = "not cancelled"
  const subscribed: Array<string> = []
  server.registerTool("hang", {}, ({ sendNotification, signal, _meta }: any) => {
    signal.addEventListener("abort", () => {
      reason = signal.reason
      void server.server.sendPromptListChanged()
    })
    const progressToken = _meta?.progressToken
    void sendNotification({ method: "notifications/progress", params: { progressToken, progress: 1 } })
    return new Promise(() => {})
  })
  server.registerTool("reason", {}, () => text(reason))
  server.registerTool("steps", {}, async ({ sendNotification, _meta }: any) => {
    for (const progress of [1, 2, 3]) {
      const params = { progressToken: _meta?.progressToken, progress, total: 3 }
      await sendNotification({ method: "notifications/progress", params })
    }
    return text("done")
  })
  server.registerTool("meta", {}, ({ _meta }: any) => text(_meta ?? null))
  server.registerTool("declared", {}, () => text(low.getClientCapabilities() ?? null))
  server.registerTool("talk", {}, async ({ sendNotification }: any) => {
    await sendNotification({ method: "notifications/message", params: { level: "info", data: "during" } })
    return text("said")
  })
  server.registerTool("update", {}, async () => {
    await low.sendResourceUpdated({ uri })
    return text(subscribed)
  })
  server.registerResource("news", uri, {}, () => ({ contents: [{ uri, text: "news" }] }))
  server.registerPrompt("early", {}, () => ({ messages: [] }))
  low.setRequestHandler(SubscribeRequestSchema, ({ params }) => {
    subscribed.push(`+${params.uri}`)
    return {}
  })
  low.setRequestHandler(UnsubscribeRequestSchema, ({ params }) => {
    subscribed.push(`-${params.uri}`)
    return {}
  })
  asking(server)
  growing(server)
  return server
}
