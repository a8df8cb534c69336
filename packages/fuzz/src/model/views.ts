/** Views of tools (extension `io.modelcontextprotocol/ui`), as untrusted JSON. */
import * as Meta from "@effect-mcp/protocol/model/Meta"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import { at } from "./json.ts"
import type { SurveyedTool } from "./Survey.ts"

/** ID of the extension. */
export const extension = "io.modelcontextprotocol/ui"

/** Media type of a view. */
export const mimeType = "text/html;profile=mcp-app"

/** The deprecated key for a tool's view, in `_meta`. */
export const flatUriKey = "ui/resourceUri"

/** The declaration of a client that shows views. */
export const settings = { mimeTypes: [mimeType] }

/** The part of `_meta` that declares the extension. */
export const withViews = { [Meta.clientCapabilities]: { extensions: { [extension]: settings } } }

/** Returns `_meta.ui` of a tool, a resource or its contents, or `undefined` if there is none. */
export const uiOf = (described: unknown): JsonObject | undefined => {
  const ui = at(described, "_meta", "ui")
  return isJsonObject(ui) ? ui : undefined
}

/** Returns the URI of a tool's view, or `undefined` if it has none. */
export const viewOf = (tool: unknown): string | undefined => {
  const uri = at(tool, "_meta", "ui", "resourceUri") ?? at(tool, "_meta", flatUriKey)
  return typeof uri === "string" ? uri : undefined
}

/** True if only views may call the tool. */
export const isForViewsOnly = (tool: unknown): boolean => {
  const visibility = at(tool, "_meta", "ui", "visibility")
  return Array.isArray(visibility) && visibility.includes("app") && !visibility.includes("model")
}

/** Returns the URIs of the tools' views, each once. */
export const viewsOf = (tools: Iterable<SurveyedTool>): ReadonlySet<string> =>
  new Set([...tools].flatMap((tool) => viewOf(tool) ?? []))
