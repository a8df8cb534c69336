/** Compares two requests. Ignores ids, progress tokens, and the declarations that a client adds to every request. */
import * as Meta from "@effect-mcp/protocol/model/Meta"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import { at } from "../model/json.ts"
import { containerIn, redacted } from "./redact.ts"

/** Members of `_meta` that differ from run to run, or from client to client. */
const passing = new Set<string>([
  "progressToken",
  Meta.protocolVersion,
  Meta.clientInfo,
  Meta.clientCapabilities,
  "traceparent",
  "tracestate",
  "baggage"
])

const isEmpty = (json: unknown): boolean => isJsonObject(json) && Object.keys(json).length === 0

/** Removes ignored members of `_meta` from params. Missing params equal empty params. */
export const comparable = (params: unknown): unknown => {
  if (!isJsonObject(params)) return params
  const { _meta: meta, ...rest } = params
  const kept = isJsonObject(meta)
    ? Object.fromEntries(Object.entries(meta).filter(([name]) => !passing.has(name)))
    : meta
  const all = kept === undefined || isEmpty(kept) ? rest : { ...rest, _meta: kept }
  return isEmpty(all) ? undefined : all
}

/** Formats JSON, truncated. */
export const show = (json: unknown): string => {
  const text = JSON.stringify(json) ?? "nothing"
  return text.length > 200 ? `${text.slice(0, 200)}…` : text
}

/** True if a text equals a recorded one, ignoring redacted secrets. */
const fits = (recorded: string, text: string): boolean => {
  if (!recorded.includes(redacted)) return recorded === text
  const parts = recorded.split(redacted)
  const last = parts.at(-1) ?? ""
  let at = parts[0]?.length ?? 0
  if (!text.startsWith(parts[0] ?? "") || !text.endsWith(last)) return false
  for (const part of parts.slice(1)) {
    const found = text.indexOf(part, at)
    if (found === -1) return false
    at = found + part.length
  }
  return true
}

/** Renames fields to the names in the recording, where names may be partly redacted. */
const renamed = (json: JsonObject, recorded: JsonObject): JsonObject => {
  const hidden = Object.keys(recorded).filter((name) => name.includes(redacted) && !Object.hasOwn(json, name))
  if (hidden.length === 0) return json
  const nameOf = (name: string) => {
    const index = Object.hasOwn(recorded, name) ? -1 : hidden.findIndex((part) => fits(part.replace(/ \d+$/, ""), name))
    return index === -1 ? name : (hidden.splice(index, 1)[0] ?? name)
  }
  return Object.fromEntries(Object.entries(json).map(([name, member]) => [nameOf(name), member]))
}

/** Returns the differences from recorded JSON, as sentences. A redacted value matches any other. */
export const differences = (recorded: unknown, json: unknown, path: string): ReadonlyArray<string> => {
  if (recorded === redacted && json !== undefined) return []
  if (typeof recorded === "string" && typeof json === "string") {
    if (fits(recorded, json)) return []
    // Redacting a text that is JSON also reformatted it.
    const [was, is] = recorded.includes(redacted) ? [containerIn(recorded), containerIn(json)] : []
    if (was !== undefined && is !== undefined) return differences(was, is, path)
  }
  if (Array.isArray(recorded) && Array.isArray(json) && recorded.length === json.length) {
    return recorded.flatMap((member: unknown, index) => differences(member, json[index], `${path}[${index}]`))
  }
  if (isJsonObject(recorded) && isJsonObject(json)) {
    const now = renamed(json, recorded)
    const names = new Set([...Object.keys(recorded), ...Object.keys(now)])
    return [...names].flatMap((name) => differences(at(recorded, name), at(now, name), `${path}.${name}`))
  }
  if (Object.is(recorded, json)) return []
  return [
    recorded === undefined
      ? `${path} is ${show(json)}, but was missing`
      : json === undefined
        ? `${path} is missing, but was ${show(recorded)}`
        : `${path} is ${show(json)}, but was ${show(recorded)}`
  ]
}
