/**
 * MCP Apps as an extension of the protocol (SEP-1865, `io.modelcontextprotocol/ui`): its declaration, and the metadata that links tools to
 * views.
 *
 * A view is an HTML page in a `ui://` resource. A tool names its view in `_meta.ui.resourceUri`. The resource's `_meta.ui` lists the origins
 * that the page may reach.
 */
import * as Extension from "@effect-mcp/core/Extension"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"

/** Media type of a view. */
export const mimeType = "text/html;profile=mcp-app"

/** Newest version of the protocol that a view and its host use. */
export const protocolVersion = "2026-01-26"

/** The extension. Hosts declare it with the media types that they can show. */
export const UiExtension = Extension.make("io.modelcontextprotocol/ui", {
  description: "Interactive views for tools. Without it, a tool's view is ignored and its content is shown instead.",
  clientSettings: { mimeTypes: Schema.optionalKey(Schema.Array(Schema.String)) }
})

/** True if a host with these settings can show views. */
export const shows = ({ mimeTypes }: { readonly mimeTypes?: ReadonlyArray<string> }): boolean =>
  mimeTypes === undefined || mimeTypes.includes(mimeType)

const Origins = Schema.Array(Schema.String)

/** Origins that a view may reach. The default for each list is none. */
export const Csp = Schema.Struct({
  /** Origins for `fetch`, WebSockets and the like. */
  connectDomains: Schema.optionalKey(Origins),
  /** Origins of scripts, styles, images, fonts and media. */
  resourceDomains: Schema.optionalKey(Origins),
  /** Origins of nested frames. */
  frameDomains: Schema.optionalKey(Origins),
  /** Origins of the document's base URL. */
  baseUriDomains: Schema.optionalKey(Origins)
})
export type Csp = typeof Csp.Type

const Requested = Schema.optionalKey(Schema.Struct({}))

/** Browser features that a view asks for. Hosts may deny them. */
export const Permissions = Schema.Struct({
  camera: Requested,
  microphone: Requested,
  geolocation: Requested,
  clipboardWrite: Requested
})
export type Permissions = typeof Permissions.Type

/** `_meta.ui` of a view's resource. */
export const ResourceUi = Schema.Struct({
  csp: Schema.optionalKey(Csp),
  permissions: Schema.optionalKey(Permissions),
  domain: Schema.optionalKey(Schema.String),
  prefersBorder: Schema.optionalKey(Schema.Boolean)
})
export type ResourceUi = typeof ResourceUi.Type

/** A tool's possible callers: the model, and the same server's views. */
export type ToolCaller = "model" | "app"

/** `_meta.ui` of a tool. */
export const ToolUi = Schema.Struct({
  resourceUri: Schema.optionalKey(Schema.String),
  visibility: Schema.optionalKey(Schema.Array(Schema.String))
})
export type ToolUi = typeof ToolUi.Type

/** The deprecated key for a tool's view. Some hosts only read this one. */
export const flatUriKey = "ui/resourceUri"

interface Described {
  readonly _meta?: JsonObject | undefined
}

const decodeToolUi = Schema.decodeUnknownExit(ToolUi)
const decodeResourceUi = Schema.decodeUnknownExit(ResourceUi)

/** Returns a tool's view metadata. Malformed metadata counts as none. */
export const toolUi = ({ _meta = {} }: Described): ToolUi => {
  const decoded = decodeToolUi(isJsonObject(_meta["ui"]) ? _meta["ui"] : {})
  const ui = Exit.isSuccess(decoded) ? decoded.value : {}
  const flat = _meta[flatUriKey]
  return ui.resourceUri === undefined && typeof flat === "string" ? { ...ui, resourceUri: flat } : ui
}

/** Returns the URI of a tool's view, or `undefined` if it has none. */
export const viewUri = (tool: Described): string | undefined => {
  const { resourceUri } = toolUi(tool)
  return resourceUri?.startsWith("ui://") === true ? resourceUri : undefined
}

/** True if this caller may call the tool. By default both may. */
export const isFor = (caller: ToolCaller, tool: Described): boolean => toolUi(tool).visibility?.includes(caller) ?? true

/** Returns `_meta.ui` of a resource or its contents, or `undefined` if there is none or it is malformed. */
export const resourceUi = ({ _meta = {} }: Described): ResourceUi | undefined => {
  if (!isJsonObject(_meta["ui"])) return undefined
  const decoded = decodeResourceUi(_meta["ui"])
  return Exit.isSuccess(decoded) ? decoded.value : undefined
}
