/**
 * Newline-delimited JSON: bytes to messages, under a byte limit (spec: basic/transports, stdio).
 *
 * A line that is too long or is not a message becomes one `Unreadable`; the lines after it are read as if nothing had happened.
 */
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import type { Envelope, Decoded, Single } from "./Transport.ts"

/** The largest message that is read, in bytes. */
export const defaultMaxMessageBytes = 4 * 1024 * 1024

const none: Envelope = {}
/** How much of what cannot be read is shown to whoever reports it, in characters. */
const excerpt = 200
/** How much of an over-long line is kept at both ends, to find out whose request it was. */
const peekBytes = 512

/** One JSON text to what it says. `envelope` is attached to every message of it. */
export const decode = (text: string, envelope: Envelope = none): Decoded => {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    return {
      _tag: "Unreadable",
      error: McpError.parseError(),
      id: undefined,
      response: false,
      text: text.slice(0, excerpt)
    }
  }
  return Array.isArray(json)
    ? { _tag: "Batch", members: json.map((member) => single(member, envelope)) }
    : single(json, envelope)
}

const single = (json: unknown, envelope: Envelope): Single => {
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

const text = `"(?:[^"\\\\]|\\\\.)*"`
const id = `(${text}|-?\\d+)`
/** Whole top-level members before any nested value: where every known encoder puts what tells a message apart. */
const head = (member: string): RegExp =>
  new RegExp(`^\\s*\\{(?:\\s*${text}\\s*:\\s*(?:${text}|[^"{\\[,\\s]+)\\s*,)*?\\s*${member}`)
const idInHead = head(`"id"\\s*:\\s*${id}`)
const answerInHead = head(`"(?:result|error)"\\s*:`)
/** Or as the very last members, `id`, `method` and `jsonrpc` in any order. */
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

const lenient = new TextDecoder("utf-8")

const tooLong = (firstBytes: Uint8Array, lastBytes: Uint8Array, limit: number): Decoded => {
  const start = lenient.decode(firstBytes)
  return {
    _tag: "Unreadable",
    error: McpError.invalidRequest(`The message is larger than ${limit} bytes`),
    id: parseId((idInHead.exec(start) ?? idInTail.exec(lenient.decode(lastBytes)))?.[1]),
    response: answerInHead.test(start)
  }
}

const concat = (a: Uint8Array, b: Uint8Array): Uint8Array => {
  const all = new Uint8Array(a.length + b.length)
  all.set(a)
  all.set(b, a.length)
  return all
}

const nothing: Uint8Array = new Uint8Array(0)

/** Splits a byte stream into messages. One instance per connection; `push` returns what the chunk completed. */
export class LineDecoder {
  /** The line so far, in the first `size` bytes; it grows by doubling, so a line that drips in costs no more than its bytes. */
  private buffer = nothing
  private size = 0
  /** The ends of an over-long line, while the rest of it is thrown away. */
  private head: Uint8Array | undefined = undefined
  private tail = nothing
  private readonly strict = new TextDecoder("utf-8", { fatal: true })
  private readonly limit: number

  constructor(limit: number = defaultMaxMessageBytes) {
    this.limit = limit
  }

  push(chunk: Uint8Array): Array<Decoded> {
    const out: Array<Decoded> = []
    let start = 0
    while (start < chunk.length) {
      const newline = chunk.indexOf(10, start)
      const part = chunk.subarray(start, newline === -1 ? chunk.length : newline)
      // Most lines arrive whole: they are read where they are.
      const whole = newline !== -1 && this.size === 0 && this.head === undefined && part.length <= this.limit
      if (!whole) this.append(part)
      if (newline === -1) break
      const inbound = whole ? this.read(part) : this.line()
      if (inbound !== undefined) out.push(inbound)
      start = newline + 1
    }
    return out
  }

  private append(part: Uint8Array): void {
    if (this.head !== undefined) {
      this.tail = concat(this.tail, part.subarray(-peekBytes)).subarray(-peekBytes)
      return
    }
    const size = this.size + part.length
    if (size > this.buffer.length) {
      const grown = new Uint8Array(Math.max(size, this.buffer.length * 2))
      grown.set(this.buffer.subarray(0, this.size))
      this.buffer = grown
    }
    this.buffer.set(part, this.size)
    this.size = size
    if (size <= Math.max(this.limit, peekBytes)) return
    const bytes = this.take()
    this.head = bytes.slice(0, peekBytes)
    this.tail = bytes.slice(-peekBytes)
  }

  private take(): Uint8Array {
    const bytes = this.buffer.subarray(0, this.size)
    this.buffer = nothing
    this.size = 0
    return bytes
  }

  /** What the line that just ended says. */
  private line(): Decoded | undefined {
    if (this.head === undefined) {
      const bytes = this.take()
      return bytes.length > this.limit
        ? tooLong(bytes.subarray(0, peekBytes), bytes.subarray(-peekBytes), this.limit)
        : this.read(bytes)
    }
    const inbound = tooLong(this.head, this.tail, this.limit)
    this.head = undefined
    this.tail = nothing
    return inbound
  }

  /** What a whole line says; nothing for a blank one. */
  private read(bytes: Uint8Array): Decoded | undefined {
    let text: string
    try {
      text = this.strict.decode(bytes)
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
