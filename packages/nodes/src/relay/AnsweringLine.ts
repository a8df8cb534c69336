/** A connection from another node, whose requests are handled here. */
import { attempt, exitOf } from "@effect-mcp/core/internal/calling"
import type { RelayError, RelayedRequest, RelayedResponse, RelayEndpoint } from "@effect-mcp/server/Nodes"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import type { Socket } from "node:net"
import type { ResponseHead } from "./AskingLine.ts"
import { FrameReader, FrameWriter, kinds } from "./Frames.ts"
import { window } from "./Inbox.ts"
import { decodeRequest } from "./RequestHead.ts"

/** Maximum body bytes per frame. */
const partLength = 64 * 1024

/** A request being handled. */
interface Answering {
  /** Number of bytes that the other node has room for. */
  room: number
  /** Resumes sending when there is room, or `undefined` if nothing is waiting. */
  resume: (() => void) | undefined
  fiber: Fiber.Fiber<void> | undefined
}

export interface Options {
  /** Handles a request addressed to the node with this name. */
  readonly answer: (node: string, request: RelayedRequest) => ReturnType<RelayEndpoint["answer"]>
  readonly runFork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>
  readonly own: (fiber: Fiber.Fiber<void>) => void
}

export class AnsweringLine {
  private readonly options: Options
  private readonly writer: FrameWriter
  private readonly answering = new Map<number, Answering>()
  private readonly socket: Socket
  /** Number of the last request read. */
  private last = 0
  private hasLeft = false

  constructor(socket: Socket, options: Options) {
    this.options = options
    this.socket = socket
    this.writer = new FrameWriter(socket)
    const reader = new FrameReader((kind, id, text, bytes) => this.received(kind, id, text, bytes))
    socket.on("data", (chunk: Buffer) => void (reader.push(chunk) || socket.destroy()))
    socket.once("close", () => {
      for (const { fiber } of this.answering.values()) fiber?.interruptUnsafe()
    })
  }

  /** Stops reading requests, and completes when all responses have been written. */
  get leave(): Effect.Effect<void> {
    return Effect.callback((resume) => {
      const { socket } = this
      const done = (): void => resume(Effect.void)
      if (socket.destroyed) return done()
      this.hasLeft = true
      this.writer.write(kinds.leaving, 0, `${this.last}`)
      socket.once("finish", done).once("close", done)
      this.writer.end()
    })
  }

  private received(kind: number, id: number, text: string, bytes: Uint8Array): void {
    if (kind === kinds.request && !this.hasLeft) {
      this.last = id
      return this.asked(id, text, bytes)
    }
    if (kind === kinds.probe) return this.writer.write(kinds.probe, id)
    const answering = this.answering.get(id)
    if (kind === kinds.left) answering?.fiber?.interruptUnsafe()
    if (kind !== kinds.room || answering === undefined) return
    answering.room += Number(text)
    const { resume } = answering
    answering.resume = undefined
    resume?.()
  }

  private asked(id: number, text: string, bytes: Uint8Array): void {
    const decoded = decodeRequest(text, bytes)
    if (decoded === undefined) return this.writer.write(kinds.broken, id)
    const answering: Answering = { room: window, resume: undefined, fiber: undefined }
    this.answering.set(id, answering)
    const answer = attempt(() => this.options.answer(decoded.node, decoded.request))
    const done = exitOf(answer)
    if (done !== undefined && Exit.isSuccess(done) && this.whole(id, done.value)) {
      this.answering.delete(id)
      return
    }
    const fiber = this.options.runFork(this.sent(id, answering, answer))
    if (fiber.pollUnsafe() !== undefined) return
    answering.fiber = fiber
    this.options.own(fiber)
  }

  /** Sends the response, or reports that there is none. */
  private sent(id: number, answering: Answering, answer: ReturnType<RelayEndpoint["answer"]>): Effect.Effect<void> {
    return Effect.flatMap(answer, (response) => this.respond(id, answering, response)).pipe(
      Effect.scoped,
      Effect.catch(({ reason }) =>
        Effect.sync(() => this.writer.write(reason === "NotSent" ? kinds.notHere : kinds.broken, id))
      ),
      Effect.onExit((exit) => {
        this.answering.delete(id)
        if (Exit.isSuccess(exit)) return Effect.void
        this.writer.write(kinds.broken, id)
        return Cause.hasDies(exit.cause)
          ? Effect.logError("Failed to answer a request from another node", exit.cause)
          : Effect.void
      }),
      Effect.ignoreCause
    )
  }

  /** Sends a response with a short, complete body. Returns false for any other response. */
  private whole(id: number, { body, headers, status }: RelayedResponse): boolean {
    if ((typeof body !== "string" && !(body instanceof Uint8Array)) || body.length > partLength) return false
    const head: ResponseHead = [status, headers, typeof body === "string" ? "text" : "bytes"]
    this.writer.write(kinds.response, id, JSON.stringify(head), body)
    return true
  }

  private respond(id: number, answering: Answering, response: RelayedResponse): Effect.Effect<void, RelayError> {
    if (this.whole(id, response)) return Effect.void
    const { headers, status } = response
    const head: ResponseHead = [status, headers, "stream"]
    this.writer.write(kinds.response, id, JSON.stringify(head))
    const body = typeof response.body === "string" ? Buffer.from(response.body) : response.body
    const parts =
      body instanceof Uint8Array
        ? this.parts(id, answering, body)
        : Stream.runForEach(body, (bytes) => this.parts(id, answering, bytes))
    return Effect.tap(parts, () => Effect.sync(() => this.writer.write(kinds.end, id)))
  }

  /** Sends a body's bytes as fast as there is room. */
  private parts(id: number, answering: Answering, bytes: Uint8Array): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (answering.room <= 0) return Effect.andThen(roomOf(answering), this.parts(id, answering, bytes))
      const part = bytes.length > partLength ? bytes.subarray(0, partLength) : bytes
      answering.room -= part.length
      this.writer.write(kinds.part, id, "", part)
      return part === bytes ? Effect.void : this.parts(id, answering, bytes.subarray(partLength))
    })
  }
}

const roomOf = (answering: Answering): Effect.Effect<void> =>
  Effect.callback((resume) => {
    const resumed = (): void => resume(Effect.void)
    answering.resume = resumed
  })
