/** Requests that a client of the SDK v2 sends to each program, and the results that it sees. */
import type { Client, NotificationMethod } from "@effect-mcp/compat/client"
import { z } from "zod"

export type Conversation = (client: Client) => Promise<unknown>

/** Reduces an error to the part that both libraries share. Message texts differ. */
export const failed = async (request: Promise<unknown>): Promise<unknown> => {
  try {
    return { value: await request }
  } catch (error) {
    return error instanceof Error && "code" in error ? { code: error.code } : { error: String(error) }
  }
}

/** Returns whether a call failed, without the text of the validation error. */
const failedTool = async (request: Promise<{ readonly isError?: boolean | undefined }>) => (await request).isError

const heard = (client: Client, method: "notifications/message"): Array<unknown> => {
  const all: Array<unknown> = []
  client.setNotificationHandler(method, ({ params }) => void all.push(params.data ?? params))
  return all
}

/** Resolves on the next notification. */
const next = (client: Client, method: NotificationMethod): Promise<void> =>
  new Promise((resolve) => client.setNotificationHandler(method, () => resolve()))

const tools: Conversation = async (client) => ({
  server: client.getServerVersion(),
  instructions: client.getInstructions(),
  capabilities: client.getServerCapabilities(),
  revision: client.getNegotiatedProtocolVersion(),
  list: await client.listTools(),
  add: await client.callTool({ name: "add", arguments: { a: 1 } }),
  era: await client.callTool({ name: "era" }),
  fails: await client.callTool({ name: "fails", arguments: {} }),
  throws: await client.callTool({ name: "throws" }),
  unfit: await failedTool(client.callTool({ name: "unfit" })),
  parts: await client.callTool({ name: "parts" }),
  invalid: await failedTool(client.callTool({ name: "add", arguments: { a: "one" } })),
  unknown: await failed(client.callTool({ name: "unknown" }))
})

const resources: Conversation = async (client) => ({
  capabilities: client.getServerCapabilities(),
  list: await client.listResources(),
  templates: await client.listResourceTemplates(),
  config: await client.readResource({ uri: "config://app" }),
  member: await client.readResource({ uri: "greeting://ada/and/more" }),
  unknown: await failed(client.readResource({ uri: "nothing://here" })),
  names: await client.complete({
    ref: { type: "ref/resource", uri: "greeting://{name}/{+rest}" },
    argument: { name: "name", value: "a" }
  })
})

const prompts: Conversation = async (client) => ({
  capabilities: client.getServerCapabilities(),
  list: await client.listPrompts(),
  review: await client.getPrompt({ name: "review", arguments: { language: "go" } }),
  plain: await client.getPrompt({ name: "plain" }),
  missing: await failed(client.getPrompt({ name: "review", arguments: {} })),
  unknown: await failed(client.getPrompt({ name: "unknown" })),
  languages: await client.complete({
    ref: { type: "ref/prompt", name: "review" },
    argument: { name: "language", value: "java" }
  }),
  topics: await client.complete({
    ref: { type: "ref/prompt", name: "review" },
    argument: { name: "topic", value: "" },
    context: { arguments: { language: "go" } }
  })
})

const streams: Conversation = async (client) => {
  const logs = heard(client, "notifications/message")
  const counted = await client.callTool({ name: "count", arguments: { to: 3 } })
  const abort = new AbortController()
  const waiting = failed(client.callTool({ name: "wait" }, { signal: abort.signal }))
  await client.callTool({ name: "count", arguments: { to: 1 } })
  abort.abort("Enough")
  return { counted, logs, isCancelled: !("value" in Object(await waiting)) }
}

const questions: Conversation = async (client) => ({
  greet: await client.callTool({ name: "greet" }),
  rounds: await client.callTool({ name: "rounds" }),
  summarize: await client.callTool({ name: "summarize" })
})

const lowLevel: Conversation = async (client) => ({
  capabilities: client.getServerCapabilities(),
  list: await client.listTools(),
  echo: await client.callTool({ name: "echo", arguments: { text: "Hi" } }),
  unknown: await failed(client.callTool({ name: "unknown", arguments: {} })),
  prompts: await failed(client.request({ method: "acme/none" }, z.object({})))
})

const custom: Conversation = async (client) => {
  const searched: Array<unknown> = []
  const query = { params: z.object({ query: z.string() }) }
  client.setNotificationHandler("acme/searched", query, ({ query }) => void searched.push(query))
  const Items = z.object({ items: z.array(z.string()) })
  const found = await client.request({ method: "acme/search", params: { query: "a" } }, Items)
  return { found, searched, invalid: await failed(client.request({ method: "acme/search", params: {} }, Items)) }
}

const changing: Conversation = async (client) => {
  const names = async () => (await client.listTools()).tools.map(({ description, name }) => [name, description])
  const seen = [await names()]
  const isModern = client.getProtocolEra() === "modern"
  const subscription = isModern ? await client.listen({ toolsListChanged: true }) : undefined
  for (const name of ["toggle", "toggle", "describe", "remove"]) {
    const changed = next(client, "notifications/tools/list_changed")
    await client.callTool({ name })
    await changed
    seen.push(await names())
  }
  await subscription?.close()
  return seen
}

export const conversations: { readonly [program: string]: Conversation } = {
  changing,
  custom,
  lowLevel,
  prompts,
  questions,
  resources,
  streams,
  tools
}
