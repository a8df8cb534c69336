/** The features of the correct server: a few of each kind, with the names that scripted clients expect. */
import * as MethodInfo from "@effect-mcp/protocol/MethodInfo"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"
import type { ServerScript } from "./model/ServerScript.ts"
import { at } from "../model/json.ts"

const serverInfo = { name: "effect-mcp fuzz", version: "0.1.0" }
const capabilities = {
  ...Object.fromEntries(Object.values(MethodInfo.lists).map(({ capability }) => [capability, {}])),
  logging: {},
  completions: {}
}

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

/** The items of each list. All other lists are empty. */
const items: { readonly [List in MethodInfo.ListName]?: JsonObject } = {
  tools: add,
  resources: resource,
  prompts: prompt
}

const listOf = (method: string) => MethodInfo.ofRequest(method)?.list?.items

/** Returns true for methods that list. */
export const isList = (method: string): boolean => listOf(method) !== undefined

const page = (method: string, params: unknown, { pages, tools }: ServerScript): JsonObject | undefined => {
  const key = listOf(method)
  if (key === undefined) return undefined
  const item = new Map(Object.entries(items)).get(key)
  const cursor = at(params, "cursor")
  const index = typeof cursor === "string" ? pages.indexOf(cursor) + 1 : 0
  if (cursor !== undefined && index === 0) return undefined
  const listed = index === 0 ? [...(item === undefined ? [] : [item]), ...(method === "tools/list" ? tools : [])] : []
  const next = pages[index]
  return { [key]: listed, ...(next === undefined ? undefined : { nextCursor: next }) }
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

/** Returns the correct result, or `undefined` if the server lacks the method or item. */
export const resultOf = (method: string, params: unknown, script: ServerScript): JsonObject | undefined => {
  const result = plain(method, params, script)
  if (result === undefined || script.revision < "2026") return method === "server/discover" ? undefined : result
  if (method === "initialize" || method === "ping") return undefined
  const caching = MethodInfo.ofRequest(method)?.cacheable === true ? { ttlMs: 0, cacheScope: "private" } : undefined
  return { ...result, ...caching, resultType: "complete", _meta: { [Meta.serverInfo]: serverInfo } }
}
