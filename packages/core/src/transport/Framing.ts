/**
 * Newline-delimited JSON: bytes to messages, under a byte limit (spec: basic/transports, stdio).
 *
 * A line that is too long or no message becomes one `InvalidMessage`; the lines after it are read as usual.
 */
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import { isDeeper, outline, type NestedText } from "../internal/depth.ts"
import { edgeBytes, tooLong } from "./overlong.ts"
import type { Decoded, Envelope, InvalidMessage, Single } from "./Transport.ts"

/** The largest message that is read, in bytes. */
export const defaultMaxMessageBytes = 4 * 1024 * 1024
/** The same for a client, which reads one connection: some servers answer with whole documents. */
export const defaultMaxAnswerBytes = 16 * 1024 * 1024
/** How deeply a message may be nested: objects and arrays within each other, the message itself included. */
export const defaultMaxMessageDepth = 256
/** The most members of a batch. Millions would fit into one message, and each invalid one costs an error. */
export const maxBatchMembers = 4096

const none: Envelope = {}
/** How much of an invalid message is kept for reports, in characters. */
const excerpt = 200

/** Decodes one JSON text. `envelope` is attached to every message; a message nested deeper than `maxDepth` is an `InvalidMessage`. */
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

/** A text with a message that is too deep: only its outline is parsed, and the members of a batch that are not too deep. */
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

/** `json` is the outline of the message, which has its id: its own members that are neither objects nor arrays. */
const tooDeep = (json: unknown, { depth, text }: NestedText, envelope: Envelope, maxDepth: number): Single => {
  const message = JsonRpc.classify(json)
  // A cancel takes effect whatever its reason is: the other members of it are flat.
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
 * Where long lines are put together. Each is decoded before the next, so one buffer serves all connections. Lines above the usual limit
 * have buffers of their own.
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

/** Parts of a line of this size or more are kept; smaller ones are gathered, so that a slow line is not a heap of small parts. */
const partBytes = 4096
const gatheredBytes = 2 * partBytes

/** Splits a byte stream into messages. One instance per connection; `push` returns what the chunk completed. */
export class LineDecoder {
  /** The line so far: `size` bytes, of which the last `gathered` are in `room`. */
  private parts: Array<Uint8Array> = []
  private size = 0
  private room = nothing
  private gathered = 0
  /** The ends of an over-long line, while the rest of it is dropped. */
  private head: Uint8Array | undefined = undefined
  private tail = nothing
  private readonly strict = new TextDecoder("utf-8", { fatal: true })
  private readonly limit: number
  private readonly maxDepth: number

  /** `limit`: the largest line, in bytes. `maxDepth`: the deepest message. */
  constructor(limit: number = defaultMaxMessageBytes, maxDepth: number = defaultMaxMessageDepth) {
    this.limit = limit
    this.maxDepth = maxDepth
  }

  /** Bytes kept of the line that has not ended: at most the limit, or 1024 where it is smaller. */
  get held(): number {
    return this.head === undefined ? this.size : this.head.length + this.tail.length
  }

  /** What the chunk completed. */
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
    // Most lines arrive whole, and several at once: they are decoded without a copy.
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

  /** The line so far. It may be the shared buffer: the caller decodes it at once. */
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

  /** Decodes whole lines: together if all are UTF-8, else each by itself, so that an invalid one affects no other. */
  private readAll(lines: Uint8Array, out: Array<Decoded>): void {
    const text = lines.length <= this.limit ? this.text(lines) : undefined
    // A byte order mark is dropped at the beginning of a line only.
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

  /** Decodes a whole line; undefined for a blank one. */
  private whole(bytes: Uint8Array): Decoded | undefined {
    if (bytes.length > this.limit) {
      return tooLong(bytes.subarray(0, edgeBytes), bytes.subarray(-edgeBytes), this.limit)
    }
    const text = this.text(bytes)
    if (text !== undefined) return this.fromText(text)
    return {
      _tag: "InvalidMessage",
      error: McpError.parseError("Parse error: this is not UTF-8"),
      id: undefined,
      response: false
    }
  }

  private fromText(line: string): Decoded | undefined {
    return line.trim() === "" ? undefined : decode(line, none, this.maxDepth)
  }

  private text(bytes: Uint8Array): string | undefined {
    // The lenient decoder is twice as fast, and marks invalid bytes in the text.
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
