/** Renders a server's self-description, tools, resources and prompts. */
import type { ServerCapabilities } from "@effect-mcp/protocol/Capabilities"
import { type Item, type ListName, lists } from "@effect-mcp/protocol/MethodInfo"
import type { Implementation } from "@effect-mcp/protocol/model/Implementation"
import type { Prompt } from "@effect-mcp/protocol/model/Prompt"
import type { Resource, ResourceTemplate } from "@effect-mcp/protocol/model/Resource"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import type { Tool } from "@effect-mcp/protocol/model/Tool"
import * as Struct from "effect/Struct"
import { safe, safeLine } from "../terminal/Style.ts"
import { properties } from "./Schemas.ts"
import { indent, json, size, table, type View, wrap } from "./Text.ts"

/** The items in every protocol list. */
export type ListedItems = { readonly [N in ListName]: ReadonlyArray<Item<N>> }

/** Everything a server reports without any calls. */
export interface Inspection extends ListedItems {
  readonly serverInfo: Implementation
  readonly protocolVersion: string
  readonly capabilities: ServerCapabilities
  readonly instructions?: string
}

const inner = ({ width }: View): number | undefined => (width === undefined ? undefined : width - 2)
const paragraph = (view: View, text: string): string => indent(wrap(safe(text.trim()), inner(view)))
const rows = (view: View, cells: ReadonlyArray<ReadonlyArray<string>>): string => indent(table(cells, inner(view)))

const headline = ({ style }: View, name: string, title: string | undefined): string =>
  title === undefined || title === name
    ? style.bold(safeLine(name))
    : `${style.bold(safeLine(name))}  ${style.dim(safeLine(title))}`

const hints = (tool: Tool): ReadonlyArray<string> => {
  const { destructiveHint, idempotentHint, openWorldHint, readOnlyHint } = tool.annotations ?? {}
  return [
    ...(readOnlyHint === true ? ["read-only"] : []),
    ...(destructiveHint === true ? ["destructive"] : []),
    ...(idempotentHint === true ? ["idempotent"] : []),
    ...(openWorldHint === true ? ["reaches outside"] : []),
    ...(tool.execution?.taskSupport === "required" ? ["only runs as a task"] : [])
  ]
}

const titleOf = (tool: Tool): string | undefined => tool.title ?? tool.annotations?.title

/** Renders a tool with its arguments. */
export const tool = (view: View, self: Tool): string => {
  const claims = hints(self)
  const output = self.outputSchema === undefined ? [] : properties(self.outputSchema, view.style)
  return [
    headline(view, self.name, titleOf(self)),
    ...(self.description === undefined ? [] : [paragraph(view, self.description)]),
    ...section(view, "Arguments", properties(self.inputSchema, view.style)),
    ...section(
      view,
      "Returns",
      output.map(([name = "", type = "", , about = ""]) => [name, type, about])
    ),
    ...(claims.length === 0 ? [] : [indent(view.style.dim(`The server says: ${claims.join(", ")}`))])
  ].join("\n")
}

const section = (view: View, title: string, cells: ReadonlyArray<ReadonlyArray<string>>): ReadonlyArray<string> =>
  cells.length === 0 ? [] : [indent(view.style.dim(title)), indent(rows(view, cells))]

/** Renders a tool with its complete schemas. */
export const toolInFull = (view: View, self: Tool): string =>
  [
    tool(view, self),
    indent(view.style.dim("Input schema")),
    indent(json(self.inputSchema), 4),
    ...(self.outputSchema === undefined
      ? []
      : [indent(view.style.dim("Output schema")), indent(json(self.outputSchema), 4)])
  ].join("\n")

/** Renders a prompt with its arguments. */
export const prompt = (view: View, self: Prompt): string =>
  [
    headline(view, self.name, self.title),
    ...(self.description === undefined ? [] : [paragraph(view, self.description)]),
    ...section(
      view,
      "Arguments",
      (self.arguments ?? []).map(({ description, name, required }) => [
        view.style.cyan(safeLine(name)),
        required === true ? view.style.yellow("required") : view.style.dim("optional"),
        safeLine(description ?? "")
      ])
    )
  ].join("\n")

/** Fields that an item of any list may have. */
interface ListedItem {
  readonly name: string
  readonly title?: string
  readonly description?: string
  readonly mimeType?: string
  readonly size?: number
}

/** Renders a list item as a row. */
const row =
  ({ style }: View, list: ListName) =>
  (self: ListedItem): ReadonlyArray<string> => {
    const { key } = lists[list]
    const { description = "", mimeType, name, title } = self
    if (key === "name") return [style.cyan(safeLine(name)), safeLine(firstLine(description || (title ?? "")))]
    return [
      style.cyan(safeLine(String(Reflect.get(self, key)))),
      safeLine(title ?? name),
      [mimeType, self.size === undefined ? undefined : size(self.size)]
        .flatMap((s) => s ?? [])
        .map(safeLine)
        .join(", "),
      style.dim(safeLine(description))
    ]
  }

const listing = (view: View, list: ListName, items: ReadonlyArray<ListedItem>): ReadonlyArray<string> => {
  const { noun } = lists[list]
  return group(view, `${noun.charAt(0).toUpperCase()}${noun.slice(1)}s`, items.map(row(view, list)))
}

/** Renders the resources, then the templates. */
export const resources = (
  view: View,
  listed: ReadonlyArray<Resource>,
  templates: ReadonlyArray<ResourceTemplate>
): string =>
  [...listing(view, "resources", listed), ...listing(view, "resourceTemplates", templates)].join("\n\n") ||
  "No resources"

const group = (view: View, title: string, cells: ReadonlyArray<ReadonlyArray<string>>): ReadonlyArray<string> =>
  cells.length === 0 ? [] : [`${view.style.bold(title)} (${cells.length})\n${rows(view, cells)}`]

/** Renders a line per capability, with its settings. */
export const capabilities = (self: ServerCapabilities): ReadonlyArray<string> =>
  Object.entries(self).flatMap(([name, detail]) => {
    if (!isJsonObject(detail)) return []
    const names = Object.entries(detail).flatMap(([key, value]) => (value === false ? [] : [key]))
    return [names.length === 0 ? safeLine(name) : `${safeLine(name)} (${names.map(safeLine).join(", ")})`]
  })

const firstLine = (text: string): string => text.trim().split("\n", 1)[0] ?? ""

/** Renders a server's overview. */
export const inspection = (view: View, self: Inspection): string => {
  const { serverInfo, style } = { serverInfo: self.serverInfo, style: view.style }
  const { description, name, title, version, websiteUrl } = serverInfo
  const declared = capabilities(self.capabilities)
  return [
    [
      headline(view, `${name} ${version}`, title),
      ...(description === undefined ? [] : [paragraph(view, description)]),
      ...(websiteUrl === undefined ? [] : [indent(style.cyan(safeLine(websiteUrl)))]),
      rows(view, [
        [style.dim("Protocol"), safeLine(self.protocolVersion)],
        [style.dim("Capabilities"), declared.length === 0 ? "none" : declared.join(", ")]
      ])
    ].join("\n"),
    ...(self.instructions === undefined
      ? []
      : [`${style.bold("Instructions")}\n${paragraph(view, self.instructions)}`]),
    ...Struct.keys(lists).flatMap((list) => listing(view, list, self[list]))
  ].join("\n\n")
}
