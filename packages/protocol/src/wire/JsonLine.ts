/**
 * Serializes JSON as a single line, as stdio requires.
 *
 * Escapes Unicode line separators, and has a fast path for progress notifications because one request may send thousands.
 */

/** Escapes U+2028 and U+2029, which some line readers (such as Node's readline) treat as line breaks. */
export const oneLine = (json: string): string =>
  json.includes("\u2028") || json.includes("\u2029")
    ? json.replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029")
    : json

/** The params of a progress notification, in the order the core package writes them. */
const counts: ReadonlyArray<string> = ["progressToken", "progress", "total", "message"]

const scalar = (value: unknown): string | number | undefined => {
  if (typeof value === "number") return Number.isFinite(value) ? value : undefined
  return typeof value === "string" ? oneLine(JSON.stringify(value)) : undefined
}

/** A message with a method, as defined by `JsonRpc`. */
interface WithMethod {
  readonly method: string
  readonly params?: { readonly [key: string]: unknown } | undefined
}

/**
 * Serializes a progress notification exactly like JSON.stringify, in half the time. Returns `undefined` for any other message, and for a
 * notification with unknown fields.
 */
export const progressLine = (message: WithMethod): string | undefined => {
  if (message.method !== "notifications/progress") return undefined
  const { params } = message
  if (params === undefined) return undefined
  for (const key in message) if (key !== "jsonrpc" && key !== "method" && key !== "params") return undefined
  let place = 0
  for (const key in params) {
    while (counts[place] !== key) if (++place >= counts.length) return undefined
    place++
  }
  const token = scalar(params["progressToken"])
  const progress = scalar(params["progress"])
  if (token === undefined || progress === undefined) return undefined
  const head = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${token},"progress":${progress}`
  const total = "total" in params ? scalar(params["total"]) : ""
  const said = "message" in params ? scalar(params["message"]) : ""
  if (total === undefined || said === undefined) return undefined
  if (said === "") return total === "" ? `${head}}}` : `${head},"total":${total}}}`
  return total === "" ? `${head},"message":${said}}}` : `${head},"total":${total},"message":${said}}}`
}
