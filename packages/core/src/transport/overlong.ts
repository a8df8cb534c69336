/** Creates the error for a line that is too long. Finds the request ID at the start or end of the line without parsing the rest. */
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import type { Decoded } from "./Transport.ts"

/** Number of bytes to keep from each end of a line that is too long, to find its request ID. */
export const edgeBytes = 512

const text = `"(?:[^"\\\\]|\\\\.)*"`
const id = `(${text}|-?\\d+)`
/** Matches complete top-level fields before any nested value, where encoders put the ID and the method. */
const head = (member: string): RegExp =>
  new RegExp(`^\\s*\\{(?:\\s*${text}\\s*:\\s*(?:${text}|[^"{\\[,\\s]+)\\s*,)*?\\s*${member}`)
const idInHead = head(`"id"\\s*:\\s*${id}`)
const answerInHead = head(`"(?:result|error)"\\s*:`)
/** Matches `id`, `method` and `jsonrpc` at the end, in any order. */
const others = `(?:,\\s*"(?:jsonrpc|method)"\\s*:\\s*${text}\\s*)*\\}\\s*$`
const idInTail = new RegExp(`,\\s*"id"\\s*:\\s*${id}\\s*${others}`)

const parseId = (found: string | undefined): JsonRpc.Id | undefined => {
  if (found === undefined) return undefined
  try {
    const value: unknown = JSON.parse(found)
    return JsonRpc.isId(value) ? value : undefined
  } catch {
    return undefined
  }
}

const decoder = new TextDecoder("utf-8")

/** Creates the error for a line longer than `limit` bytes. Includes the request ID if it appears at either end. */
export const tooLong = (firstBytes: Uint8Array, lastBytes: Uint8Array, limit: number): Decoded => {
  const start = decoder.decode(firstBytes)
  return {
    _tag: "InvalidMessage",
    error: McpError.invalidRequest(`The message is larger than ${limit} bytes (maxMessageBytes)`),
    id: parseId((idInHead.exec(start) ?? idInTail.exec(decoder.decode(lastBytes)))?.[1]),
    response: answerInHead.test(start)
  }
}
