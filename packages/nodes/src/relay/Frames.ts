/**
 * Frames on a connection between two nodes. Each frame carries its request's number, so many requests can share a connection.
 *
 * All frames from one turn of the event loop are sent in a single write, because writes are the most expensive part of relaying.
 */
import type { Socket } from "node:net"

/** Kinds of frames. */
export const kinds = {
  /** A request: its head as text and its body as bytes. */
  request: 1,
  /** A response: its head as text, and the first bytes of its body. */
  response: 2,
  /** More bytes of the body. */
  part: 3,
  /** The body is complete. */
  end: 4,
  /** The rest of the response will not arrive. */
  broken: 5,
  /** The asking node has room for this many more bytes, sent as text. */
  room: 6,
  /** The asking node has cancelled the request. */
  left: 7,
  /** The node does not hold the session, so no server has seen the request. */
  notHere: 8,
  /** The asking node hasn't heard anything for a while. The other node sends the same frame back. */
  probe: 9,
  /** The answering node is leaving. The text is the number of the last request it read; it ignores all later ones. */
  leaving: 10
} as const

/** Header: length of the rest, kind, request number, length of the text. The text and the bytes follow. */
const headLength = 13
/** Maximum frame length. A node only sends bodies that it has admitted or created. */
const maxFrame = 512 * 1024 * 1024
/** Bodies up to this size in bytes are copied after their head rather than written as a separate buffer. */
const copied = 4096

const nothing = Buffer.alloc(0)

type Received = (kind: number, id: number, text: string, bytes: Buffer) => void

/** Assembles frames from incoming chunks. */
export class FrameReader {
  private readonly received: Received
  /** Chunks of an incomplete frame. */
  private parts: Array<Buffer> = []
  /** Length of `parts`. */
  private size = 0
  /** Length that `parts` must reach before there is more to read. */
  private needed = headLength

  constructor(received: Received) {
    this.received = received
  }

  /** Returns false if a frame is too long, after which nothing else can be read. */
  push(chunk: Buffer): boolean {
    this.parts.push(chunk)
    this.size += chunk.length
    if (this.size < this.needed) return true
    const all = this.parts.length === 1 ? chunk : Buffer.concat(this.parts, this.size)
    const read = this.frames(all)
    if (read === undefined) return false
    const rest = all.subarray(read)
    this.parts = rest.length === 0 ? [] : [rest]
    this.size = rest.length
    return true
  }

  /** Reads the complete frames and returns where they end. */
  private frames(all: Buffer): number | undefined {
    let at = 0
    this.needed = headLength
    while (all.length - at >= headLength) {
      const length = all.readUInt32LE(at)
      if (length < headLength || length > maxFrame) return undefined
      if (all.length - at < length) {
        this.needed = length
        break
      }
      const text = at + headLength + all.readUInt32LE(at + 9)
      if (text > at + length) return undefined
      this.received(
        all[at + 4] ?? 0,
        all.readUInt32LE(at + 5),
        text === at + headLength ? "" : all.toString("utf8", at + headLength, text),
        text === at + length ? nothing : all.subarray(text, at + length)
      )
      at += length
    }
    return at
  }
}

/** Writes frames. */
export class FrameWriter {
  private readonly socket: Socket
  private waiting: Array<Uint8Array> = []
  private size = 0

  constructor(socket: Socket) {
    this.socket = socket
  }

  write(kind: number, id: number, text = "", body: string | Uint8Array = nothing): void {
    const textLength = text === "" ? 0 : Buffer.byteLength(text)
    const bodyLength = typeof body === "string" ? Buffer.byteLength(body) : body.length
    const length = headLength + textLength + bodyLength
    const isApart = typeof body !== "string" && bodyLength > copied
    const head = Buffer.allocUnsafe(isApart ? length - bodyLength : length)
    head.writeUInt32LE(length, 0)
    head[4] = kind
    head.writeUInt32LE(id, 5)
    head.writeUInt32LE(textLength, 9)
    if (textLength > 0) head.write(text, headLength)
    if (typeof body === "string") head.write(body, headLength + textLength)
    else if (!isApart && bodyLength > 0) head.set(body, headLength + textLength)
    // Requests of several clients are read in one phase of the event loop, and sent together after it.
    if (this.waiting.push(head) === 1) setImmediate(this.flush)
    if (isApart) this.waiting.push(body)
    this.size += length
  }

  /** Writes pending frames and closes the connection. */
  end(): void {
    this.flush()
    this.socket.end()
  }

  private readonly flush = (): void => {
    const { size, socket, waiting } = this
    this.waiting = []
    this.size = 0
    const [first] = waiting
    if (first === undefined || socket.destroyed) return
    if (waiting.length === 1) return void socket.write(first)
    if (size <= copied * 4) return void socket.write(Buffer.concat(waiting, size))
    socket.cork()
    for (const part of waiting) socket.write(part)
    socket.uncork()
  }
}
