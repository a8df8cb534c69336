/**
 * The error about a line that is too long: which request it was, found in the ends of the line without parsing the rest.
 */
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import type { Decoded } from "./Transport.ts"

/** How much of an over-long line is kept at both ends, to find the id of its request. In bytes. */
export const edgeBytes = 512

const text = `"(?:[^"\\\\]|\\\\.)*"`
const id = `(${text}|-?\\d+)`
/** Whole top-level members before any nested value: encoders put the id and the method there. */
const head = (member: string): RegExp =>
  new RegExp(`^\\s*\\{(?:\\s*${text}\\s*:\\s*(?:${text}|[^"{\\[,\\s]+)\\s*,)*?\\s*${member}`)
const idInHead = head(`"id"\\s*:\\s*${id}`)
const answerInHead = head(`"(?:result|error)"\\s*:`)
/** Or at the end: `id`, `method` and `jsonrpc` in any order. */
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

/** The error for a line of more than `limit` bytes, with the id of its request if either end has one. */
export const tooLong = (firstBytes: Uint8Array, lastBytes: Uint8Array, limit: number): Decoded => {
  const start = decoder.decode(firstBytes)
  return {
    _tag: "InvalidMessage",
    error: McpError.invalidRequest(`The message is larger than ${limit} bytes (maxMessageBytes)`),
    id: parseId((idInHead.exec(start) ?? idInTail.exec(decoder.decode(lastBytes)))?.[1]),
    response: answerInHead.test(start)
  }
}
