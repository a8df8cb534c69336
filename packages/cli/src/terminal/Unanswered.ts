/** Suggests flags for questions that a server could not ask because this client doesn't declare the capability. */
import type { CallToolResult } from "@effect-mcp/protocol/model/Tool"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"

/** Flags that answer forms. */
export const form = "To answer the server's questions, use --accept, --answer or --decline, or a terminal."
const page = "The server asks you to open a page, which requires a terminal."
const others: { readonly [capability: string]: string } = {
  sampling: "To answer the server's sampling requests, use --sample.",
  roots: "To share folders with the server, use --root."
}

const flagsOf = (capability: string, mode?: string): ReadonlyArray<string> => {
  const named = capability === "elicitation" ? (mode === "url" ? page : form) : others[capability]
  return named === undefined ? [] : [named]
}

/** Returns the flags for the data in error -32021. */
export const flagsOfData = (data: unknown): string | undefined => {
  const required = isJsonObject(data) ? data["requiredCapabilities"] : undefined
  if (!isJsonObject(required)) return undefined
  const lines = Object.entries(required).flatMap(([capability, declared]) =>
    flagsOf(capability, isJsonObject(declared) && !("form" in declared) ? Object.keys(declared)[0] : undefined)
  )
  return lines.length === 0 ? undefined : lines.join("\n")
}

/** Recognizes the text of a failed result from this library and the official SDKs. Revisions before 2026-07-28 have no error code for it. */
export const flagsOfResult = ({ content, isError }: CallToolResult): string | undefined => {
  if (isError !== true) return undefined
  const text = content.map((block) => (block.type === "text" ? block.text : "")).join("\n")
  const [, before, capability = "", behind] =
    /(?:did not declare|does not support) (?:(form|url) )?(elicitation|roots|sampling)(?:\.(url))?/i.exec(text) ?? []
  return flagsOf(capability.toLowerCase(), before ?? behind)[0]
}
