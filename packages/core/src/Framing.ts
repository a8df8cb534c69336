/**
 * Newline-delimited JSON: bytes to messages, under a byte limit (spec: basic/transports, stdio).
 *
 * A line that is too long or is not a message becomes one `Unreadable`; the lines after it are read as if nothing had happened.
 */
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import type { Envelope, Inbound } from "./Transport.ts"

/** The largest message that is read, in bytes. */
export const defaultMaxMessageBytes = 4 * 1024 * 1024

const none: Envelope = {}
/** How much of an over-long line is kept at both ends, to find out whose request it was. */
const peekBytes = 512

/** One JSON text to what it says. `envelope` is attached to every message of it. */
export const decode = (text: string, envelope: Envelope = none): Inbound => {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    return { _tag: "Unreadable", error: McpError.parseError(), id: undefined, response: false }
  }
  if (Array.isArray(json)) return { _tag: "Batch", messages: json.map(JsonRpc.classify), envelope }
  const message = JsonRpc.classify(json)
  return JsonRpc.isInvalid(message)
    ? {
        _tag: "Unreadable",
        error: McpError.invalidRequest(message.reason),
        id: message.id,
        response: isResponseLike(json)
      }
    : { _tag: "Message", message, envelope }
}

const isResponseLike = (json: unknown): boolean =>
  typeof json === "object" && json !== null && !("method" in json) && ("result" in json || "error" in json)

const idText = `("(?:[^"\\\\]|\\\\.)*"|-?\\d+)`
/** A top-level id before any nested value, or as the very last member: where every known encoder puts it. */
const idInHead = new RegExp(`^\\s*\\{[^{\\[]*?"id"\\s*:\\s*${idText}`)
const idInTail = new RegExp(`[^{]"id"\\s*:\\s*${idText}(?:\\s*,\\s*"jsonrpc"\\s*:\\s*"2\\.0")?\\s*\\}\\s*$`)
const methodInHead = /^\s*\{[^{[]*?"method"\s*:/

const tooLong = (head: string, tail: string, limit: number): Inbound => {
  const found = (idInHead.exec(head) ?? idInTail.exec(tail))?.[1]
  const id: unknown = found === undefined ? undefined : JSON.parse(found)
  return {
    _tag: "Unreadable",
    error: McpError.invalidRequest(`The message is larger than ${limit} bytes`),
    id: JsonRpc.isId(id) ? id : undefined,
    response: !methodInHead.test(head)
  }
}

/** Splits a byte stream into messages. One instance per connection; `push` returns what the chunk completed. */
export class LineDecoder {
  private parts: Array<Uint8Array> = []
  private size = 0
  /** Set while the rest of an over-long line is thrown away. */
  private head: string | undefined = undefined
  private tail = ""
  private readonly text = new TextDecoder("utf-8", { fatal: true })
  private readonly lenient = new TextDecoder("utf-8")
  private readonly limit: number

  constructor(limit: number = defaultMaxMessageBytes) {
    this.limit = limit
  }

  push(chunk: Uint8Array): Array<Inbound> {
    const out: Array<Inbound> = []
    let start = 0
    while (start < chunk.length) {
      const newline = chunk.indexOf(10, start)
      const end = newline === -1 ? chunk.length : newline
      this.append(chunk.subarray(start, end))
      if (newline === -1) break
      const inbound = this.line()
      if (inbound !== undefined) out.push(inbound)
      start = newline + 1
    }
    return out
  }

  private append(part: Uint8Array): void {
    if (part.length === 0) return
    if (this.head === undefined) {
      this.parts.push(part)
      this.size += part.length
      if (this.size <= this.limit) return
      const all = this.concat()
      this.head = this.lenient.decode(all.subarray(0, peekBytes))
      this.tail = this.lenient.decode(all.subarray(-peekBytes))
      this.parts = []
      this.size = 0
    } else {
      this.tail = (this.tail + this.lenient.decode(part.subarray(-peekBytes))).slice(-peekBytes)
    }
  }

  private concat(): Uint8Array {
    const [first] = this.parts
    if (first !== undefined && this.parts.length === 1) return first
    const all = new Uint8Array(this.size)
    let offset = 0
    for (const part of this.parts) {
      all.set(part, offset)
      offset += part.length
    }
    return all
  }

  /** What the line that just ended says; nothing for a blank one. */
  private line(): Inbound | undefined {
    if (this.head !== undefined) {
      const inbound = tooLong(this.head, this.tail, this.limit)
      this.head = undefined
      this.tail = ""
      return inbound
    }
    const bytes = this.concat()
    this.parts = []
    this.size = 0
    let text: string
    try {
      text = this.text.decode(bytes)
    } catch {
      return {
        _tag: "Unreadable",
        error: McpError.parseError("Parse error: this is not UTF-8"),
        id: undefined,
        response: false
      }
    }
    return text.trim() === "" ? undefined : decode(text)
  }
}
