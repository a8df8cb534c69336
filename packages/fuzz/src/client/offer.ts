/** What the right server offers: a little of everything, under the names that scripted clients know. */
import * as Meta from "@effect-mcp/protocol/model/Meta"
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"
import type { ServerScript } from "./model/ServerScript.ts"
import { at } from "../model/json.ts"

const serverInfo = { name: "effect-mcp fuzz", version: "0.1.0" }
const capabilities = { tools: {}, resources: {}, prompts: {}, logging: {}, completions: {} }

const add = {
  name: "add_numbers",
  description: "Adds two numbers.",
  inputSchema: {
    type: "object",
    properties: { a: { type: "number" }, b: { type: "number" } },
    required: ["a", "b"]
  }
}
const resource = { uri: "test://static-text", name: "static-text", mimeType: "text/plain" }
const prompt = { name: "test_simple_prompt", description: "A prompt." }

/** The member of its result that has the items of a list. */
const lists: { readonly [method: string]: readonly [string, JsonObject | undefined] } = {
  "tools/list": ["tools", add],
  "resources/list": ["resources", resource],
  "resources/templates/list": ["resourceTemplates", undefined],
  "prompts/list": ["prompts", prompt]
}

export const isList = (method: string): boolean => Object.hasOwn(lists, method)

const page = (method: string, params: unknown, { pages, tools }: ServerScript): JsonObject | undefined => {
  const [key, item] = lists[method] ?? []
  if (key === undefined) return undefined
  const cursor = at(params, "cursor")
  const index = typeof cursor === "string" ? pages.indexOf(cursor) + 1 : 0
  if (cursor !== undefined && index === 0) return undefined
  const items = index === 0 ? [...(item === undefined ? [] : [item]), ...(method === "tools/list" ? tools : [])] : []
  const next = pages[index]
  return { [key]: items, ...(next === undefined ? undefined : { nextCursor: next }) }
}

const text = (value: string) => ({ type: "text", text: value })

const plain = (method: string, params: unknown, script: ServerScript): JsonObject | undefined => {
  switch (method) {
    case "initialize":
      return { protocolVersion: script.revision, capabilities, serverInfo }
    case "server/discover":
      return { supportedVersions: [script.revision], capabilities }
    case "ping":
    case "logging/setLevel":
      return {}
    case "tools/call":
      return { content: [text(String(Number(at(params, "arguments", "a")) + Number(at(params, "arguments", "b"))))] }
    case "resources/read":
      return { contents: [{ uri: String(at(params, "uri")), mimeType: "text/plain", text: "static" }] }
    case "prompts/get":
      return { messages: [{ role: "user", content: text("A prompt") }] }
    case "completion/complete":
      return { completion: { values: [] } }
    default:
      return page(method, params, script)
  }
}

const cached = /^(?:server\/discover|resources\/read|.*\/list)$/

/** The right result; undefined where the server does not have that. */
export const resultOf = (method: string, params: unknown, script: ServerScript): JsonObject | undefined => {
  const result = plain(method, params, script)
  if (result === undefined || script.revision < "2026") return method === "server/discover" ? undefined : result
  if (method === "initialize" || method === "ping") return undefined
  const caching = cached.test(method) ? { ttlMs: 0, cacheScope: "private" } : undefined
  return { ...result, ...caching, resultType: "complete", _meta: { [Meta.serverInfo]: serverInfo } }
}
