/**
 * JSON texts on one line, as stdio sends them.
 *
 * Owns the escapes of Unicode's line ends, and the fast path for progress notifications, of which one request may send thousands.
 */

/** JSON without U+2028 and U+2029, which some readers of lines (Node's readline) take for line ends; JSON allows their escapes. */
export const oneLine = (json: string): string =>
  json.includes("\u2028") || json.includes("\u2029")
    ? json.replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029")
    : json

/** The params of a progress notification, in the order in which core writes them. */
const counts: ReadonlyArray<string> = ["progressToken", "progress", "total", "message"]

const scalar = (value: unknown): string | number | undefined => {
  if (typeof value === "number") return Number.isFinite(value) ? value : undefined
  return typeof value === "string" ? oneLine(JSON.stringify(value)) : undefined
}

/** A message with a method, as `JsonRpc` has it. */
interface WithMethod {
  readonly method: string
  readonly params?: { readonly [key: string]: unknown } | undefined
}

/**
 * The text that JSON.stringify gives for a progress notification, in half of its time; undefined for every other message, and for one
 * with fields that are not known here.
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
