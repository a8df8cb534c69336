/**
 * What a server offers, for people: itself, its tools, resources and prompts.
 */
import type { ServerCapabilities } from "@effect-mcp/protocol/Capabilities"
import type { Implementation } from "@effect-mcp/protocol/model/Implementation"
import type { Prompt } from "@effect-mcp/protocol/model/Prompt"
import type { Resource, ResourceTemplate } from "@effect-mcp/protocol/model/Resource"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import type { Tool } from "@effect-mcp/protocol/model/Tool"
import { safe, safeLine } from "../terminal/Style.ts"
import { properties } from "./Schemas.ts"
import { indent, json, size, table, type View, wrap } from "./Text.ts"

/** All that can be asked of a server without calling anything. */
export interface Inspection {
  readonly serverInfo: Implementation
  readonly protocolVersion: string
  readonly capabilities: ServerCapabilities
  readonly instructions?: string
  readonly tools: ReadonlyArray<Tool>
  readonly resources: ReadonlyArray<Resource>
  readonly resourceTemplates: ReadonlyArray<ResourceTemplate>
  readonly prompts: ReadonlyArray<Prompt>
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
    ...(tool.execution?.taskSupport === "required" ? ["runs only as a task"] : [])
  ]
}

const titleOf = (tool: Tool): string | undefined => tool.title ?? tool.annotations?.title

/** A tool with its arguments. */
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

/** A tool with its whole schemas. */
export const toolInFull = (view: View, self: Tool): string =>
  [
    tool(view, self),
    indent(view.style.dim("Input schema")),
    indent(json(self.inputSchema), 4),
    ...(self.outputSchema === undefined
      ? []
      : [indent(view.style.dim("Output schema")), indent(json(self.outputSchema), 4)])
  ].join("\n")

/** A prompt with its arguments. */
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

export const resource = (view: View, self: Resource): ReadonlyArray<string> => [
  view.style.cyan(safeLine(self.uri)),
  safeLine(self.title ?? self.name),
  [self.mimeType, ...(self.size === undefined ? [] : [size(self.size)])]
    .flatMap((s) => s ?? [])
    .map(safeLine)
    .join(", "),
  view.style.dim(safeLine(self.description ?? ""))
]
export const template = (view: View, self: ResourceTemplate): ReadonlyArray<string> => [
  view.style.cyan(safeLine(self.uriTemplate)),
  safeLine(self.title ?? self.name),
  safeLine(self.mimeType ?? ""),
  view.style.dim(safeLine(self.description ?? ""))
]

/** Resources, then templates. */
export const resources = (
  view: View,
  listed: ReadonlyArray<Resource>,
  templates: ReadonlyArray<ResourceTemplate>
): string => {
  const parts = [
    ...group(
      view,
      "Resources",
      listed.map((self) => resource(view, self))
    ),
    ...group(
      view,
      "Resource templates",
      templates.map((self) => template(view, self))
    )
  ]
  return parts.length === 0 ? "No resources" : parts.join("\n\n")
}

const group = (view: View, title: string, cells: ReadonlyArray<ReadonlyArray<string>>): ReadonlyArray<string> =>
  cells.length === 0 ? [] : [`${view.style.bold(title)} (${cells.length})\n${rows(view, cells)}`]

/** One line per capability, with what is said about it. */
export const capabilities = (self: ServerCapabilities): ReadonlyArray<string> =>
  Object.entries(self).flatMap(([name, detail]) => {
    if (!isJsonObject(detail)) return []
    const names = Object.entries(detail).flatMap(([key, value]) => (value === false ? [] : [key]))
    return [names.length === 0 ? safeLine(name) : `${safeLine(name)} (${names.map(safeLine).join(", ")})`]
  })

const nameRow =
  ({ style }: View) =>
  (self: { readonly name: string; readonly title?: string; readonly description?: string }) => [
    style.cyan(safeLine(self.name)),
    safeLine(firstLine(self.description ?? self.title ?? ""))
  ]
const firstLine = (text: string): string => text.trim().split("\n", 1)[0] ?? ""

/** Everything at a glance. */
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
    ...group(view, "Tools", self.tools.map(nameRow(view))),
    ...group(
      view,
      "Resources",
      self.resources.map((item) => resource(view, item))
    ),
    ...group(
      view,
      "Resource templates",
      self.resourceTemplates.map((item) => template(view, item))
    ),
    ...group(view, "Prompts", self.prompts.map(nameRow(view)))
  ].join("\n\n")
}
