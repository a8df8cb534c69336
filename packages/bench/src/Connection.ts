/**
 * A small HTTP/1.1 client over one socket, one request at a time. Cheaper than any library, so that a small machine spends its time on the
 * server under test, and the same for every server.
 */
import * as net from "node:net"

export interface Answer {
  readonly status: number
  readonly head: string
  readonly body: string
}

interface Pending {
  readonly done: (answer: Answer) => void
  readonly failed: (error: Error) => void
  /** Called with the header block, for streams that do not end. */
  readonly onHead?: ((head: string) => void) | undefined
}

const headEnd = Buffer.from("\r\n\r\n")
const none: Buffer = Buffer.alloc(0)

export class Connection {
  private readonly port: number
  private socket: net.Socket | undefined = undefined
  private pending: Pending | undefined = undefined
  private rest: Buffer = none
  private head: string | undefined = undefined
  private chunked = false
  private left = 0
  private parts: Array<Buffer> = []

  constructor(port: number) {
    this.port = port
  }

  open(): Promise<void> {
    return new Promise((resolve, reject) => {
      const socket = net.connect({ port: this.port, host: "127.0.0.1", noDelay: true }, resolve)
      this.socket = socket
      socket.on("error", (error) => {
        reject(error)
        this.fail(error)
      })
      socket.on("close", () => this.fail(new Error("The connection was closed")))
      socket.on("data", (data) => this.receive(data))
    })
  }

  send(text: string, pending: Pending): void {
    this.pending = pending
    this.socket?.write(text)
  }

  request(text: string): Promise<Answer> {
    return new Promise((done, failed) => this.send(text, { done, failed }))
  }

  end(): void {
    this.pending = undefined
    this.socket?.destroy()
  }

  private fail(error: Error): void {
    const pending = this.pending
    this.pending = undefined
    pending?.failed(error)
  }

  private receive(data: Buffer): void {
    let bytes = this.rest.length === 0 ? data : Buffer.concat([this.rest, data])
    this.rest = none
    for (;;) {
      if (this.head === undefined) {
        const end = bytes.indexOf(headEnd)
        if (end < 0) return void (this.rest = bytes)
        this.begin(bytes.toString("latin1", 0, end))
        bytes = bytes.subarray(end + 4)
      }
      const after = this.chunked ? this.chunks(bytes) : this.known(bytes)
      if (after === undefined) return
      bytes = after
      this.complete()
      if (bytes.length === 0) return
    }
  }

  private begin(head: string): void {
    this.head = head
    this.parts = []
    const length = header(head, "content-length")
    this.chunked = length === undefined && /\r\ntransfer-encoding: *chunked/i.test(head)
    this.left = Number(length ?? 0)
    this.pending?.onHead?.(head)
  }

  /** Returns the bytes after the body, once the body is complete. */
  private known(bytes: Buffer): Buffer | undefined {
    if (this.left === 0) return bytes
    const part = bytes.subarray(0, this.left)
    this.parts.push(part)
    this.left -= part.length
    return this.left > 0 ? undefined : bytes.subarray(part.length)
  }

  private chunks(from: Buffer): Buffer | undefined {
    let bytes = from
    for (;;) {
      const line = bytes.indexOf("\r\n")
      const size = line < 0 ? 0 : Number.parseInt(bytes.toString("latin1", 0, line), 16)
      if (line < 0 || bytes.length < line + 2 + size + 2) {
        this.rest = bytes
        return undefined
      }
      if (size > 0) this.parts.push(bytes.subarray(line + 2, line + 2 + size))
      bytes = bytes.subarray(line + 2 + size + 2)
      if (size === 0) return bytes
    }
  }

  private complete(): void {
    const { head = "", parts, pending } = this
    this.head = undefined
    this.pending = undefined
    this.parts = []
    const [only] = parts
    const body = (only !== undefined && parts.length === 1 ? only : Buffer.concat(parts)).toString()
    pending?.done({ status: Number(head.slice(9, 12)), head, body })
  }
}

const patterns = new Map<string, RegExp>()
/** Returns the value of a header. */
export const header = (head: string, name: string): string | undefined => {
  const pattern = patterns.get(name) ?? new RegExp(`\\r\\n${name}: *([^\\r]*)`, "i")
  patterns.set(name, pattern)
  return pattern.exec(head)?.[1]
}
