/** An in-process server with terminal control characters in every text. */
import * as Memory from "@effect-mcp/core/Memory"
import { TransportError } from "@effect-mcp/core/Transport"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type { CommandTarget, Words } from "@effect-mcp/cli/Target"
import { Effect, Stream } from "effect"

/** Every kind: C0, backspace, CR, NUL, OSC, CSI, colours, DEL, C1, bidirectional, zero width, separators, tags, fillers. */
export const evil =
  "\u0000\u0008\u001b]52;c;ZXZpbA==\u0007\u001b[2J\u001b[31mRED\u007f\u009b2J\u00ad\u034f\u061c\u115f\u180e\u200b\u200d\u200e" +
  "\u202e\u2028\u2029\u2060\u2066\u2069\u3164\ufeff\ufff9\u{e0041}\u{e0100}\u{1d173}\rend"

/** Returns parts of `text` that a terminal would interpret or hide, except for this program's colours and live line. */
export const dangerous = (text: string): ReadonlyArray<string> => {
  // oxlint-disable-next-line no-control-regex -- the program's own output
  const foreign = text.replaceAll("\r\u001b[2K", "").replace(/\u001b\[(?:[12]|22|3[0-9])m(?!RED)/g, "")
  const found = foreign.match(/(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu) ?? []
  return [...new Set(found)].map((character) => (character.codePointAt(0) ?? 0).toString(16))
}

const text = `text${evil}`
const name = `name${evil}`
const schema = (more: object = {}) => ({
  type: "object",
  properties: { [name]: { type: "string", description: text, default: text, enum: [text] } },
  ...more
})
const tools = ["ok", "log", "error", "refuse", "form", "page", "sample", "liar", "structured", name].map((tool) => ({
  name: tool,
  title: text,
  description: text,
  inputSchema: schema(),
  annotations: { title: text },
  ...(tool === "liar" ? { outputSchema: { type: "object", properties: { n: { type: "integer" } } } } : {})
}))
const block = { type: "text", text }
const content = [
  block,
  { type: "image", data: "YQ==", mimeType: text },
  { type: "resource", resource: { uri: `x://${text}`, text, mimeType: text } },
  { type: "resource_link", uri: `x://${text}`, name, title: text, description: text, mimeType: text }
]
export const form = {
  message: text,
  requestedSchema: {
    type: "object",
    properties: {
      [name]: { type: "string", title: text, description: text, default: text },
      one: { type: "string", title: text, oneOf: [{ const: text, title: text }] },
      many: { type: "array", title: text, items: { anyOf: [{ const: text, title: text }] } }
    }
  }
} as const

const results: { readonly [method: string]: object } = {
  initialize: {
    protocolVersion: "2025-11-25",
    capabilities: {
      tools: {},
      prompts: {},
      resources: { subscribe: true },
      logging: {},
      completions: {},
      experimental: { [name]: {} }
    },
    instructions: text,
    serverInfo: { name, version: text, title: text, description: text, websiteUrl: `https://${text}` }
  },
  ping: {},
  "logging/setLevel": {},
  "tools/list": { tools },
  "resources/list": {
    resources: [{ uri: `x://${text}`, name, title: text, description: text, mimeType: text }]
  },
  "resources/templates/list": {
    resourceTemplates: [{ uriTemplate: `x://${text}{a}`, name, title: text, description: text, mimeType: text }]
  },
  "resources/read": { contents: [{ uri: `x://${text}`, text, mimeType: text }] },
  "resources/subscribe": {},
  "prompts/list": {
    prompts: [{ name, title: text, description: text, arguments: [{ name, description: text, required: true }] }]
  },
  "prompts/get": { description: text, messages: content.map((content) => ({ role: "user", content })) },
  "completion/complete": { completion: { values: [text], total: 2, hasMore: true } }
}

const refusal = { code: -32602, message: text, data: { [name]: text } }

/** The messages that follow a tool call, in order. */
const calls = (id: JsonRpc.Id, tool: string, token: unknown): ReadonlyArray<JsonRpc.Message> => {
  const ask = (method: string, params: JsonRpc.Params) => [JsonRpc.request(`of ${id}`, method, params)]
  switch (tool) {
    case "log":
      return [
        JsonRpc.notification("notifications/message", { level: "error", logger: name, data: text }),
        JsonRpc.notification("notifications/message", { level: "info", logger: name, data: { [name]: text } }),
        JsonRpc.notification("notifications/progress", { progressToken: token, progress: 1, total: 2, message: text }),
        JsonRpc.success(id, { content })
      ]
    case "error":
      return [JsonRpc.success(id, { content, isError: true })]
    case "refuse":
      return [JsonRpc.failure(id, refusal)]
    case "form":
      return ask("elicitation/create", form)
    case "page":
      return ask("elicitation/create", { mode: "url", message: text, url: `https://e.com/${text}`, elicitationId: "1" })
    case "sample":
      return ask("sampling/createMessage", { maxTokens: 1, messages: [{ role: "user", content: block }] })
    case "liar":
      return [JsonRpc.success(id, { content, structuredContent: { n: text } })]
    case "structured":
      return [JsonRpc.success(id, { content: [], structuredContent: { [name]: text } })]
    default:
      return [JsonRpc.success(id, { content })]
  }
}

/** `dead` exits after writing to stderr. `refuses` only answers with errors. `junk` writes invalid messages. */
export type Mode = "dead" | "junk" | "plain" | "refuses"

const answers = (mode: Mode, message: JsonRpc.Message): ReadonlyArray<JsonRpc.Message> => {
  // An answer to a question ends the call that asked.
  if (JsonRpc.isResponse(message)) return [JsonRpc.success(Number(String(message.id).slice(3)), { content })]
  if (!JsonRpc.isRequest(message)) return []
  const { id, method, params } = message
  if (mode === "refuses") return [JsonRpc.failure(id, refusal)]
  if (method === "tools/call") {
    const { _meta, name: tool }: any = params
    return calls(id, tool, _meta?.progressToken)
  }
  const result = results[method]
  const junk = mode === "junk" ? [JsonRpc.success(`no ${evil}`, {})] : []
  return [...junk, result === undefined ? JsonRpc.failure(id, refusal) : JsonRpc.success(id, result)]
}

export const hostile = (mode: Mode): CommandTarget => ({
  name: "hostile",
  connect: Effect.fnUntraced(function* ({ words }) {
    yield* words(Stream.make(text))
    if (mode === "dead") {
      return yield* new TransportError({ reason: "Exited", message: text, exitCode: 1, stderr: `${text}\n${text}` })
    }
    const [client, server] = yield* Memory.pair()
    yield* Effect.forkScoped(
      Stream.runForEach(server.incoming, (inbound) =>
        Effect.sync(() => {
          if (inbound._tag !== "Message") return
          for (const message of answers(mode, inbound.message)) server.sink.send(message, "control")
        })
      )
    )
    return client
  })
})

const modes: ReadonlyArray<Mode> = ["dead", "junk", "plain", "refuses"]
export const targetOf = (words: Words): CommandTarget => hostile(modes.find((mode) => mode === words?.[0]) ?? "plain")
