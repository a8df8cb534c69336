/**
 * Decodes newline-delimited JSON from bytes to messages, with a size limit (spec: basic/transports, stdio).
 *
 * A line that is too long or isn't a message becomes an `InvalidMessage`. The lines after it are decoded normally.
 */
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import { isDeeper, outline, type NestedText } from "../internal/depth.ts"
import { edgeBytes, tooLong } from "./overlong.ts"
import type { Decoded, Envelope, InvalidMessage, Single } from "./Transport.ts"

export { isDeeper } from "../internal/depth.ts"

/** Default maximum size of an incoming message, in bytes. */
export const defaultMaxMessageBytes = 4 * 1024 * 1024
/** Default for a client. It is larger because a client only reads a single connection, and some servers respond with whole documents. */
export const defaultMaxAnswerBytes = 16 * 1024 * 1024
/** Default maximum nesting depth of a message. Counts nested objects and arrays, including the message itself. */
export const defaultMaxMessageDepth = 256
/** Maximum number of messages in a batch. Without a limit, millions would fit, and every invalid one costs an error. */
export const maxBatchMembers = 4096

const none: Envelope = {}
/** How many characters of an invalid message to keep for error reports. */
const excerpt = 200

/** Decodes one JSON text. Every message receives the `envelope`. A message nested deeper than `maxDepth` becomes an `InvalidMessage`. */
export const decode = (text: string, envelope: Envelope = none, maxDepth: number = defaultMaxMessageDepth): Decoded => {
  if (isDeeper(text, maxDepth)) return decodeDeep(text, envelope, maxDepth)
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    return noJson(text)
  }
  if (!Array.isArray(json)) return single(json, envelope)
  if (json.length > maxBatchMembers) return tooMany(text)
  return { _tag: "Batch", members: json.map((member) => single(member, envelope)) }
}

const noJson = (text: string): InvalidMessage => ({
  _tag: "InvalidMessage",
  error: McpError.parseError(),
  id: undefined,
  response: false,
  text: text.slice(0, excerpt)
})

const tooMany = (text: string): InvalidMessage => ({
  _tag: "InvalidMessage",
  error: McpError.invalidRequest(`A batch must not have more than ${maxBatchMembers} members`),
  id: undefined,
  response: false,
  text: text.slice(0, excerpt)
})

/**
 * Decodes a text that contains a message nested too deeply. Parses only that message's outline, but all of the batch members within the
 * limit.
 */
const decodeDeep = (text: string, envelope: Envelope, maxDepth: number): Decoded => {
  const isBatch = /^\s*\[/.test(text)
  const { parts, text: shallow } = outline(text, isBatch ? 2 : 1)
  const next = parts.values()
  const member = (json: unknown): Single => {
    const part = typeof json === "object" && json !== null ? next.next().value : undefined
    if (part === undefined) return single(json, envelope)
    return part.depth > maxDepth ? tooDeep(json, part, envelope, maxDepth) : single(JSON.parse(part.text), envelope)
  }
  try {
    const json: unknown = JSON.parse(shallow)
    if (!Array.isArray(json) || !isBatch) return member(json)
    return json.length > maxBatchMembers ? tooMany(text) : { _tag: "Batch", members: json.map(member) }
  } catch {
    return noJson(text)
  }
}

/** `json` is the message's outline: its ID and its other primitive fields, without objects and arrays. */
const tooDeep = (json: unknown, { depth, text }: NestedText, envelope: Envelope, maxDepth: number): Single => {
  const message = JsonRpc.classify(json)
  // A cancellation still takes effect, because everything except its reason is flat.
  if ("method" in message && message.method === "notifications/cancelled") {
    return single(JSON.parse(outline(text, 2).text), envelope)
  }
  const id = "id" in message && JsonRpc.isId(message.id) ? message.id : undefined
  return {
    _tag: "InvalidMessage",
    error: McpError.invalidRequest(`The message is nested ${depth} levels deep; at most ${maxDepth} are allowed`),
    id,
    response: isResponseLike(json)
  }
}

const single = (json: unknown, envelope: Envelope): Single => {
  const message = JsonRpc.classify(json)
  return JsonRpc.isInvalid(message)
    ? {
        _tag: "InvalidMessage",
        error: McpError.invalidRequest(message.reason),
        id: message.id,
        response: isResponseLike(json)
      }
    : { _tag: "Message", message, envelope }
}

const isResponseLike = (json: unknown): boolean =>
  typeof json === "object" && json !== null && !("method" in json) && ("result" in json || "error" in json)

const lenient = new TextDecoder("utf-8")
const nothing: Uint8Array = new Uint8Array(0)

/**
 * Shared buffer for assembling long lines. Each line is decoded before the next one, so one buffer is enough for all connections. Lines
 * above the default limit use their own buffers.
 */
let scratchBuffer = nothing
const assemble = (parts: ReadonlyArray<Uint8Array>, size: number): Uint8Array => {
  const [only] = parts
  if (only !== undefined && parts.length === 1) return only
  const large = size > defaultMaxMessageBytes
  if (!large && size > scratchBuffer.length) scratchBuffer = new Uint8Array(Math.min(2 * size, defaultMaxMessageBytes))
  const room = large ? new Uint8Array(size) : scratchBuffer
  let at = 0
  for (const part of parts) {
    room.set(part, at)
    at += part.length
  }
  return room.subarray(0, size)
}

/**
 * Minimum size of a chunk that is kept as is. Smaller chunks are combined, so that a line that arrives slowly doesn't turn into many tiny
 * chunks.
 */
const partBytes = 4096
const gatheredBytes = 2 * partBytes

/** Splits a byte stream into messages. Create one decoder per connection. */
export class LineDecoder {
  /** The line so far: `size` bytes, of which the last `gathered` are in `room`. */
  private parts: Array<Uint8Array> = []
  private size = 0
  private room = nothing
  private gathered = 0
  /** Start and end of a line that is too long, kept while the rest of it is dropped. */
  private head: Uint8Array | undefined = undefined
  private tail = nothing
  private readonly strict = new TextDecoder("utf-8", { fatal: true })
  private readonly limit: number
  private readonly maxDepth: number

  /** `limit` is the maximum line length in bytes. `maxDepth` is the maximum nesting depth of a message. */
  constructor(limit: number = defaultMaxMessageBytes, maxDepth: number = defaultMaxMessageDepth) {
    this.limit = limit
    this.maxDepth = maxDepth
  }

  /** Number of buffered bytes in the unfinished line. Never more than the limit, or 1024 if the limit is smaller. */
  get held(): number {
    return this.head === undefined ? this.size : this.head.length + this.tail.length
  }

  /** Returns the messages completed by this chunk. */
  push(chunk: Uint8Array): Array<Decoded> {
    const out: Array<Decoded> = []
    let start = 0
    if (this.size > 0 || this.head !== undefined) {
      const newline = chunk.indexOf(10)
      this.append(newline === -1 ? chunk : chunk.subarray(0, newline))
      if (newline === -1) return out
      start = newline + 1
      keep(out, this.line())
    }
    // Most lines arrive whole, often several at once. They are decoded without being copied.
    const last = chunk.lastIndexOf(10)
    if (last >= start) {
      this.readAll(chunk.subarray(start, last), out)
      start = last + 1
    }
    if (start < chunk.length) this.append(chunk.subarray(start))
    return out
  }

  private append(part: Uint8Array): void {
    if (this.head !== undefined) {
      const end = part.subarray(-edgeBytes)
      this.tail = assemble([this.tail, end], this.tail.length + end.length).slice(-edgeBytes)
      return
    }
    if (part.length >= partBytes) {
      this.gather()
      this.parts.push(part)
    } else {
      if (this.gathered + part.length > this.room.length) {
        this.gather()
        this.room = new Uint8Array(gatheredBytes)
      }
      this.room.set(part, this.gathered)
      this.gathered += part.length
    }
    this.size += part.length
    if (this.size <= Math.max(this.limit, edgeBytes)) return
    const bytes = this.take()
    this.head = bytes.slice(0, edgeBytes)
    this.tail = bytes.slice(-edgeBytes)
  }

  private gather(): void {
    if (this.gathered > 0) this.parts.push(this.room.subarray(0, this.gathered))
    this.room = nothing
    this.gathered = 0
  }

  /** Returns the line so far. Decode it immediately, because it may be in the shared buffer. */
  private take(): Uint8Array {
    this.gather()
    const bytes = assemble(this.parts, this.size)
    this.parts = []
    this.size = 0
    return bytes
  }

  /** Decodes the line that just ended. */
  private line(): Decoded | undefined {
    if (this.head === undefined) return this.whole(this.take())
    const inbound = tooLong(this.head, this.tail, this.limit)
    this.head = undefined
    this.tail = nothing
    return inbound
  }

  /**
   * Decodes complete lines. If all of them are valid UTF-8 they are decoded together; otherwise one by one, so that an invalid line doesn't
   * affect the others.
   */
  private readAll(lines: Uint8Array, out: Array<Decoded>): void {
    const text = lines.length <= this.limit ? this.text(lines) : undefined
    // A byte order mark is only dropped at the start of a line.
    if (text !== undefined && !text.includes("\uFEFF")) {
      for (const line of text.split("\n")) keep(out, this.fromText(line))
      return
    }
    for (let start = 0; start <= lines.length;) {
      const newline = lines.indexOf(10, start)
      const end = newline === -1 ? lines.length : newline
      keep(out, this.whole(lines.subarray(start, end)))
      start = end + 1
    }
  }

  /** Decodes a complete line. Returns `undefined` for a blank line. */
  private whole(bytes: Uint8Array): Decoded | undefined {
    if (bytes.length > this.limit) {
      return tooLong(bytes.subarray(0, edgeBytes), bytes.subarray(-edgeBytes), this.limit)
    }
    const text = this.text(bytes)
    if (text !== undefined) return this.fromText(text)
    return {
      _tag: "InvalidMessage",
      error: McpError.parseError("Parse error: not valid UTF-8"),
      id: undefined,
      response: false
    }
  }

  private fromText(line: string): Decoded | undefined {
    return line.trim() === "" ? undefined : decode(line, none, this.maxDepth)
  }

  private text(bytes: Uint8Array): string | undefined {
    // The lenient decoder is twice as fast, and marks invalid bytes in its output.
    const text = lenient.decode(bytes)
    if (!text.includes("\uFFFD")) return text
    try {
      return this.strict.decode(bytes)
    } catch {
      return undefined
    }
  }
}

const keep = (out: Array<Decoded>, inbound: Decoded | undefined): void => {
  if (inbound !== undefined) out.push(inbound)
}
