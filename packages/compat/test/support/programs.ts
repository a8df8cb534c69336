/** Servers as programs of the SDK v2 write them, one for each feature. */
import type { McpRequestContext, McpServer, Server } from "@effect-mcp/compat/server"
import { z } from "zod"
import type { V2 } from "./modules.ts"

type Factory = (context: McpRequestContext) => McpServer | Server
type Program = (sdk: V2) => Factory

const text = (text: string) => ({ content: [{ type: "text" as const, text }] })

const tools: Program =
  ({ McpServer }) =>
  ({ era }) => {
    const server = new McpServer({ name: "tools", version: "1.0.0" }, { instructions: "Add numbers." })
    server.registerTool(
      "add",
      {
        title: "Adder",
        description: "Adds two numbers",
        inputSchema: z.object({ a: z.number().describe("The first"), b: z.number().default(2) }),
        outputSchema: z.object({ sum: z.number() }),
        annotations: { readOnlyHint: true }
      },
      async ({ a, b }) => ({ ...text(`${a + b}`), structuredContent: { sum: a + b } })
    )
    server.registerTool("era", { description: "Says the era" }, async () => text(era))
    server.registerTool("fails", {}, async () => ({ ...text("It failed"), isError: true }))
    server.registerTool("throws", {}, async () => {
      throw new Error("It threw")
    })
    server.registerTool("unfit", { outputSchema: z.object({ n: z.number() }) }, async () => ({
      ...text("no number"),
      structuredContent: { n: "one" }
    }))
    server.registerTool("parts", {}, async () => ({
      content: [
        { type: "image", data: "AAAA", mimeType: "image/png" },
        { type: "resource_link", uri: "file:///a", name: "a", description: undefined },
        { type: "resource", resource: { uri: "file:///b", text: "B" } }
      ]
    }))
    return server
  }

const resources: Program =
  ({ McpServer, ResourceTemplate }) =>
  () => {
    const server = new McpServer({ name: "resources", version: "1.0.0" })
    server.registerResource(
      "config",
      "config://app",
      { mimeType: "application/json", title: "Config" },
      async (uri) => ({
        contents: [{ uri: uri.href, mimeType: "application/json", text: "{}" }]
      })
    )
    server.registerResource(
      "greeting",
      new ResourceTemplate("greeting://{name}/{+rest}", {
        list: async () => ({ resources: [{ uri: "greeting://ada/x", name: "ada" }] }),
        complete: { name: (start) => ["ada", "alan", "bob"].filter((name) => name.startsWith(start)) }
      }),
      { description: "Greets", mimeType: "text/plain" },
      async (uri, { name, rest }) => ({
        contents: [{ uri: uri.href, text: `Hello, ${String(name)} (${String(rest)})` }]
      })
    )
    return server
  }

const prompts: Program =
  ({ completable, McpServer }) =>
  () => {
    const server = new McpServer({ name: "prompts", version: "1.0.0" })
    server.registerPrompt(
      "review",
      {
        title: "Review",
        description: "Reviews code",
        argsSchema: z.object({
          language: completable(z.string().describe("Which language"), (start) =>
            ["go", "java", "javascript"].filter((name) => name.startsWith(start))
          ),
          topic: completable(z.string(), (_, context) => [
            `about ${context?.arguments?.["language"] ?? "nothing"}`
          ]).optional()
        })
      },
      async ({ language, topic }) => ({
        messages: [{ role: "user", content: { type: "text", text: `Review ${language}, ${topic ?? "all"}` } }]
      })
    )
    server.registerPrompt("plain", {}, async () => ({
      messages: [{ role: "assistant", content: { type: "text", text: "Plain" } }]
    }))
    return server
  }

const streams: Program =
  ({ McpServer }) =>
  () => {
    const server = new McpServer({ name: "streams", version: "1.0.0" }, { capabilities: { logging: {} } })
    server.registerTool("count", { inputSchema: z.object({ to: z.number() }) }, async ({ to }, { mcpReq }) => {
      const progressToken = mcpReq._meta?.progressToken
      for (let progress = 1; progress <= to; progress++) {
        if (progressToken !== undefined) {
          await mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress, total: to } })
        }
        await mcpReq.notify({ method: "notifications/message", params: { level: "info", data: `step ${progress}` } })
      }
      return text(`counted to ${to}`)
    })
    server.registerTool("wait", {}, ({ mcpReq }) => {
      const { promise, resolve } = Promise.withResolvers<void>()
      mcpReq.signal.addEventListener("abort", () => resolve())
      return promise.then(() => text("aborted"))
    })
    return server
  }

const questions: Program =
  ({ acceptedContent, inputRequired, McpServer }) =>
  ({ era }) => {
    const requestedSchema = { type: "object" as const, properties: { name: { type: "string" } }, required: ["name"] }
    const server = new McpServer({ name: "questions", version: "1.0.0" })
    server.registerTool("greet", {}, async ({ mcpReq }) => {
      if (era === "legacy") {
        const { action, content } = await mcpReq.elicitInput({ mode: "form", message: "Who?", requestedSchema })
        return text(`${action} ${String(content?.["name"])}`)
      }
      const answer = acceptedContent<{ name: string }>(mcpReq.inputResponses, "who")
      if (answer !== undefined) return text(`accept ${answer.name}`)
      return inputRequired({ inputRequests: { who: inputRequired.elicit({ message: "Who?", requestedSchema }) } })
    })
    let calls = 0
    server.registerTool("rounds", {}, async ({ mcpReq }) => {
      calls++
      const step = mcpReq.requestState() ?? "first"
      const answer = acceptedContent<{ name: string }>(mcpReq.inputResponses, step)
      if (step === "second") return text(`${calls} ${answer?.name}`)
      const next = answer === undefined ? "first" : "second"
      const asked = inputRequired.elicit({ message: `${next}?`, requestedSchema })
      return inputRequired({ inputRequests: { [next]: asked }, requestState: next })
    })
    server.registerTool("summarize", {}, async ({ mcpReq }) => {
      const params = {
        messages: [{ role: "user" as const, content: { type: "text" as const, text: "Hi" } }],
        maxTokens: 5
      }
      if (era === "legacy") {
        const { content, model } = await mcpReq.requestSampling(params)
        return text(JSON.stringify([content, model]))
      }
      const known = mcpReq.inputResponses?.["model"]
      if (known === undefined) return inputRequired({ inputRequests: { model: inputRequired.createMessage(params) } })
      const { content, model } = Object(known)
      return text(JSON.stringify([content, model]))
    })
    return server
  }

const lowLevel: Program =
  ({ ProtocolError, Server }) =>
  () => {
    const server = new Server({ name: "low-level", version: "1.0.0" }, { capabilities: { tools: {} } })
    server.setRequestHandler("tools/list", async () => ({
      tools: [{ name: "echo", inputSchema: { type: "object", properties: { text: { type: "string" } } } }]
    }))
    server.setRequestHandler("tools/call", async ({ params }) => {
      if (params.name !== "echo") throw new ProtocolError(-32_602, `Unknown tool: ${params.name}`, { known: ["echo"] })
      return text(String(params.arguments?.["text"]))
    })
    return server
  }

const custom: Program =
  ({ McpServer }) =>
  () => {
    const { server } = new McpServer({ name: "custom", version: "1.0.0" })
    const params = z.object({ query: z.string(), limit: z.number().default(2) })
    server.setRequestHandler("acme/search", { params }, async ({ limit, query }, { mcpReq }) => {
      await mcpReq.notify({ method: "acme/searched", params: { query } })
      return { items: Array.from({ length: limit }, (_, index) => `${query}-${index}`) }
    })
    return server
  }

const changing: Program =
  ({ McpServer }) =>
  () => {
    const server = new McpServer({ name: "changing", version: "1.0.0" })
    const extra = server.registerTool("extra", { description: "Before" }, async () => text("extra"))
    server.registerTool("toggle", {}, async () => {
      if (extra.enabled) extra.disable()
      else extra.enable()
      return text(String(extra.enabled))
    })
    server.registerTool("describe", {}, async () => {
      extra.update({ description: "After", name: "renamed" })
      return text("described")
    })
    server.registerTool("remove", {}, async () => {
      extra.remove()
      return text("removed")
    })
    return server
  }

export const programs: { readonly [name: string]: Program } = {
  changing,
  custom,
  lowLevel,
  prompts,
  questions,
  resources,
  streams,
  tools
}
