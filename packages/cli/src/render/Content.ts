/** Renders the results of tools, resources and prompts: text unchanged, and a descriptive line for everything else. */
import type { ContentBlock, ResourceContents } from "@effect-mcp/protocol/model/Content"
import type { CallToolResult } from "@effect-mcp/protocol/model/Tool"
import type { GetPromptResult } from "@effect-mcp/protocol/model/Prompt"
import * as Equal from "effect/Equal"
import { safeLine } from "../terminal/Style.ts"
import { base64Size, exact, indent, json, size, type View } from "./Text.ts"

/** Binary data in a result. */
export interface Binary {
  readonly mimeType: string | undefined
  readonly base64: string
}

/** Returns the binary data in a content block, if any. */
export const binaryOf = (block: ContentBlock): Binary | undefined => {
  if (block.type === "image" || block.type === "audio") return { mimeType: block.mimeType, base64: block.data }
  return block.type === "resource" ? binaryOfResource(block.resource) : undefined
}
export const binaryOfResource = (contents: ResourceContents): Binary | undefined =>
  "blob" in contents ? { mimeType: contents.mimeType, base64: contents.blob } : undefined

const summary = (view: View, what: string, { base64, mimeType }: Binary): string =>
  view.style.dim(`[${what}, ${safeLine(mimeType ?? "unknown type")}, ${size(base64Size(base64))}]`)

/** Renders a resource's contents below its URI. */
export const embedded = (view: View, contents: ResourceContents): string => {
  const uri = safeLine(contents.uri)
  const binary = binaryOfResource(contents)
  if (binary !== undefined) return summary(view, `resource ${uri}`, binary)
  const type = contents.mimeType === undefined ? "" : `, ${safeLine(contents.mimeType)}`
  return `${view.style.dim(`[resource ${uri}${type}]`)}\n${exact(view, "text" in contents ? contents.text : "")}`
}

/** Renders a content block. */
export const block = (view: View, content: ContentBlock): string => {
  switch (content.type) {
    case "text":
      return exact(view, content.text)
    case "image":
    case "audio":
      return summary(view, content.type, { mimeType: content.mimeType, base64: content.data })
    case "resource":
      return embedded(view, content.resource)
    default: {
      const { description, mimeType, name, title, uri } = content
      const about = [mimeType, description].flatMap((text) => (text === undefined ? [] : [safeLine(text)]))
      const more = about.length === 0 ? "" : view.style.dim(` (${about.join("; ")})`)
      return `${view.style.dim("[link]")} ${safeLine(title ?? name)} ${view.style.cyan(safeLine(uri))}${more}`
    }
  }
}

/** True if the content only repeats the structured value, as servers do for older clients. */
const mirrors = (content: ReadonlyArray<ContentBlock>, structured: unknown): boolean => {
  const [first] = content
  if (content.length !== 1 || first?.type !== "text") return false
  try {
    return Equal.equals(JSON.parse(first.text), structured)
  } catch {
    return false
  }
}

/** Renders a tool's result: its content, and its structured value unless the content repeats it. */
export const callResult = (view: View, { content, structuredContent }: CallToolResult): string => {
  const blocks = content.map((part) => block(view, part))
  if (structuredContent === undefined) return blocks.join("\n")
  const structured = json(structuredContent)
  return mirrors(content, structuredContent)
    ? structured
    : [...blocks, view.style.dim("Structured content:"), structured].join("\n")
}

/** Renders a prompt's messages, each below its role. */
export const promptResult = (view: View, { description, messages }: GetPromptResult): string => {
  const head = description === undefined ? [] : [view.style.dim(exact(view, description))]
  const said = messages.map(({ content, role }) => `${view.style.bold(`${role}:`)}\n${indent(block(view, content))}`)
  return [...head, ...said].join("\n\n")
}
