/** Questions that a server could not ask, since this client declares no capability for them: the flags that answer each. */
import type { CallToolResult } from "@effect-mcp/protocol/model/Tool"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"

const form = "To answer the server's questions, use --accept, --answer or --decline, or a terminal."
const page = "The server wants a page to be opened, which needs a terminal."
const others: { readonly [capability: string]: string } = {
  sampling: "To answer the server's requests for a model, use --sample.",
  roots: "To name folders to the server, use --root."
}

const flagsOf = (capability: string, mode?: string): ReadonlyArray<string> => {
  const named = capability === "elicitation" ? (mode === "url" ? page : form) : others[capability]
  return named === undefined ? [] : [named]
}

/** By the data of error -32021. */
export const flagsOfData = (data: unknown): string | undefined => {
  const required = isJsonObject(data) ? data["requiredCapabilities"] : undefined
  if (!isJsonObject(required)) return undefined
  const lines = Object.entries(required).flatMap(([capability, declared]) =>
    flagsOf(capability, isJsonObject(declared) && !("form" in declared) ? Object.keys(declared)[0] : undefined)
  )
  return lines.length === 0 ? undefined : lines.join("\n")
}

/** By the text of a failed result, which is all that revisions before 2026-07-28 have: that of this library, and of the official SDKs. */
export const flagsOfResult = ({ content, isError }: CallToolResult): string | undefined => {
  if (isError !== true) return undefined
  const text = content.map((block) => (block.type === "text" ? block.text : "")).join("\n")
  const [, before, capability = "", behind] =
    /(?:did not declare|does not support) (?:(form|url) )?(elicitation|roots|sampling)(?:\.(url))?/i.exec(text) ?? []
  return flagsOf(capability.toLowerCase(), before ?? behind)[0]
}
