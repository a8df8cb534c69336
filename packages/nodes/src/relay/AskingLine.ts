/**
 * A connection to another node, for this node's requests.
 *
 * It tracks whether a request was sent. A request that was never sent can go to another node; any other request may already have run.
 */
import { RelayError, type RelayedResponse } from "@effect-mcp/server/Nodes"
import * as Effect from "effect/Effect"
import { connect, type Socket } from "node:net"
import type { NodeId } from "./NodeId.ts"
import { FrameReader, FrameWriter, kinds } from "./Frames.ts"
import { greet, patience } from "./handshake.ts"
import { Inbox } from "./Inbox.ts"

type Answer = Effect.Effect<RelayedResponse, RelayError>

interface Asked {
  readonly node: NodeId
  /** Called with the response, and `undefined` afterwards. */
  answered: ((answer: Answer) => void) | undefined
  /** Receives the body. `undefined` before the response arrives, or if the body came with it. */
  inbox: Inbox | undefined
}

/** The start of a response: its status, its headers, and whether the attached bytes are the complete body, which may be text. */
export type ResponseHead = readonly [
  status: number,
  headers: { readonly [name: string]: string },
  body: "text" | "bytes" | "stream"
]

const failed = (reason: RelayError["reason"], message: string): RelayError => new RelayError({ reason, message })
const notHere = failed("NotSent", "The other node does not hold this session")
const broken = failed("Cut", "The other node aborted the response")
/** Interval at which a silent connection is probed, in milliseconds. It is closed after twice that time without a response. */
export const probed = 10_000

/** Parses a head. Returns `undefined` if it cannot be read. */
const headIn = (text: string): ResponseHead | undefined => {
  try {
    const head: unknown = JSON.parse(text)
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a node that knows the secret wrote it
    return Array.isArray(head) && head.length === 3 ? (head as unknown as ResponseHead) : undefined
  } catch {
    return undefined
  }
}

export interface Options {
  readonly secret: string
  /** Called once both nodes have proved that they know the secret. */
  readonly opened: () => void
  /** Called when the other node announces that it is leaving. */
  readonly left: () => void
  /** Called when no more requests may be sent on this connection. May be called more than once. */
  readonly closed: () => void
  /** Overrides `probed`. */
  readonly probe?: number | undefined
}

export class AskingLine {
  private readonly socket: Socket
  private readonly options: Options
  private readonly asked = new Map<number, Asked>()
  private count = 0
  /** `undefined` until both nodes have proved that they know the secret. */
  private writer: FrameWriter | undefined = undefined
  /** Requests waiting for the connection. */
  private waiting: Array<(writer: FrameWriter) => void> = []
  /** True if a frame has arrived since the last probe. */
  private heard = true

  constructor(address: { readonly host: string; readonly port: number }, options: Options) {
    const socket = connect({ ...address, noDelay: true, keepAlive: true, keepAliveInitialDelay: probed })
    this.socket = socket
    this.options = options
    const late = setTimeout(() => socket.destroy(new Error("Connecting took too long")), patience)
    let failure = "The connection was closed"
    socket.once("connect", () => {
      clearTimeout(late)
      Effect.runCallback(greet(socket, options.secret), {
        onExit: (exit) => {
          if (exit._tag === "Success") return this.opened()
          failure = "The other node could not prove that it knows the shared secret"
          socket.destroy()
        }
      })
    })
    socket.once("error", ({ message }) => (failure = message))
    socket.once("end", () => this.close())
    socket.once("close", () => {
      clearTimeout(late)
      options.closed()
      this.fail(failure)
    })
  }

  private opened(): void {
    const { socket } = this
    const reader = new FrameReader((kind, id, text, bytes) => this.received(kind, id, text, bytes))
    socket.on("data", (chunk: Buffer) => {
      this.heard = true
      if (!reader.push(chunk)) this.close()
    })
    const writer = new FrameWriter(socket)
    this.writer = writer
    this.options.opened()
    const { probe = probed } = this.options
    // Runs after pending input has been read, because this node itself may have been blocked.
    const timer = setInterval(() => setImmediate(() => this.probe(writer)), probe).unref()
    socket.once("close", () => clearInterval(timer))
    for (const write of this.waiting) write(writer)
    this.waiting = []
  }

  /**
   * Detects a network that drops packets, which neither end would otherwise notice: the operating system would wait a quarter of an hour.
   */
  private probe(writer: FrameWriter): void {
    if (!this.heard) return this.close()
    this.heard = this.asked.size === 0
    if (!this.heard) writer.write(kinds.probe, 0)
  }

  /** Sends a request and returns its number. Calls `answered` once. */
  ask(node: NodeId, head: string, body: Uint8Array | undefined, answered: (answer: Answer) => void): number {
    const id = (this.count = (this.count + 1) >>> 0)
    this.asked.set(id, { node, answered, inbox: undefined })
    if (this.writer !== undefined) this.writer.write(kinds.request, id, head, body)
    else this.waiting.push((writer) => this.asked.has(id) && writer.write(kinds.request, id, head, body))
    return id
  }

  /** Cancels a request whose response is not complete. */
  leave(id: number): void {
    if (this.asked.delete(id)) this.writer?.write(kinds.left, id)
  }

  /** Returns the nodes that still owe a complete response. */
  *nodes(): Iterable<NodeId> {
    for (const { node } of this.asked.values()) yield node
  }

  /** Ends the requests to a node that is gone. */
  cut(node: NodeId): void {
    const gone = this.failed("The other node lost its lease")
    for (const [id, asked] of this.asked) {
      if (asked.node !== node) continue
      this.leave(id)
      settle(asked, gone)
    }
    // A frozen machine answers nothing, so the next request needs a new connection.
    if (this.asked.size === 0) this.close()
  }

  close(): void {
    // Called at once: a request sent before the socket closes also needs another connection.
    this.options.closed()
    this.socket.destroy()
  }

  /** Requests leave once both nodes have proved that they know the secret. */
  private failed(message: string): RelayError {
    return failed(this.writer === undefined ? "NotSent" : "Cut", message)
  }

  private fail(message: string): void {
    const error = this.failed(message)
    const all = [...this.asked.values()]
    this.asked.clear()
    for (const asked of all) settle(asked, error)
  }

  /** The other node won't handle requests that it hasn't read, so they can be sent to another node. */
  private left(last: number): void {
    this.options.left()
    this.options.closed()
    for (const [id, asked] of this.asked) {
      if (id <= last) continue
      this.asked.delete(id)
      settle(asked, notHere)
    }
  }

  private received(kind: number, id: number, text: string, bytes: Buffer): void {
    if (kind === kinds.leaving) return this.left(Number(text))
    const asked = this.asked.get(id)
    if (asked === undefined) return
    if (kind === kinds.part) return asked.inbox?.push(bytes)
    if (kind === kinds.response) return this.responded(id, asked, text, bytes)
    this.asked.delete(id)
    if (kind === kinds.end) asked.inbox?.end()
    else settle(asked, kind === kinds.notHere ? notHere : broken)
  }

  private responded(id: number, asked: Asked, text: string, bytes: Buffer): void {
    const head = headIn(text)
    if (head === undefined) return this.close()
    const [status, headers, form] = head
    const { answered } = asked
    asked.answered = undefined
    if (form !== "stream") {
      this.asked.delete(id)
      return answered?.(Effect.succeed({ status, headers, body: form === "text" ? bytes.toString() : bytes }))
    }
    const inbox = new Inbox((bytes) => this.writer?.write(kinds.room, id, `${bytes}`))
    asked.inbox = inbox
    answered?.(Effect.succeed({ status, headers, body: inbox.stream }))
  }
}

/** Ends a request, or the body of its response, with an error. */
const settle = (asked: Asked, error: RelayError): void => {
  asked.answered?.(Effect.fail(error))
  asked.answered = undefined
  asked.inbox?.end(error)
}
