/**
 * What two nodes say on a connection: frames, each of a request by its number, so that many requests share one connection.
 *
 * Owns the bytes. Frames of one turn of the event loop leave in one write: a write is the most expensive thing that a node does for a request.
 */
import type { Socket } from "node:net"

/** What a frame says. */
export const kinds = {
  /** A request: its head as text, its body as bytes. */
  request: 1,
  /** The head of a response as text, and bytes of its body. */
  response: 2,
  /** More bytes of the body. */
  part: 3,
  /** The body is whole. */
  end: 4,
  /** The rest of the response does not come. */
  broken: 5,
  /** The node that asked has room for so many bytes more, as text. */
  room: 6,
  /** The node that asked has left. */
  left: 7,
  /** The node does not hold the session: no server has seen the request. */
  notHere: 8,
  /** The node that asked has heard nothing for a while: the other one says the same. */
  probe: 9,
  /** The node that answers leaves: it has read the request of the number in the text, and none that was sent later. */
  leaving: 10
} as const

/** Length of what follows, kind, number of the request, length of the text: then the text, then bytes. */
const headLength = 13
/** Length of a frame: a body that a node sends was admitted, or made, by that node. */
const maxFrame = 512 * 1024 * 1024
/** Bytes of a body that are copied beside their head, instead of being a buffer of their own. */
const copied = 4096

const nothing = Buffer.alloc(0)

type Received = (kind: number, id: number, text: string, bytes: Buffer) => void

/** Puts frames together of what arrives. */
export class FrameReader {
  private readonly received: Received
  /** The beginning of a frame, in the chunks that have arrived. */
  private parts: Array<Buffer> = []
  /** Length of `parts`. */
  private size = 0
  /** How long `parts` has to be until there is more to read. */
  private needed = headLength

  constructor(received: Received) {
    this.received = received
  }

  /** False where the frame is too long: nothing that follows can be read. */
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

  /** Reads the frames that are whole; gives where they end. */
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
    // What several clients send is read in one phase of the event loop, and leaves after it.
    if (this.waiting.push(head) === 1) setImmediate(this.flush)
    if (isApart) this.waiting.push(body)
    this.size += length
  }

  /** Writes what waits, and ends the connection. */
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
