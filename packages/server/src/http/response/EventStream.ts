/**
 * A stream of server-sent events. It holds the events that its body has not written yet, so it can outlive one body and
 * continue with another.
 *
 * Owns the order of events, the back-pressure on senders, and the choice of the body that writes. `ResumableStream`
 * adds ids and resumption.
 */
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Latch from "effect/Latch"
import { type EventSource, SseBody } from "./SseBody.ts"

/** Usual maximum length of a write: a larger one is copied more than once, and large copies are garbage-collected late. */
const writeSize = 64 * 1024

/** An event that was sent. */
export interface SentEvent {
  /** Position in its stream: from 0, without gaps. */
  readonly seq: number
  /** The complete event as written, including its `id` field. */
  readonly text: string
}

export class EventStream implements EventSource {
  /** Bytes that may wait before senders are suspended. */
  readonly highWater: number
  /** Events that no body has taken yet, oldest first. */
  protected waiting: Array<SentEvent> = []
  /** Length of `waiting` and `writing`. */
  protected bytes = 0
  /**
   * Length of the last text that the body took. It counts until the wire asks for more, so that a slow reader is
   * noticed.
   */
  private writing = 0
  /** The body that takes events, or `undefined` before the first and after its response ended. */
  protected body: SseBody | undefined = undefined
  /** True once there was a body. */
  wasAttached = false
  /** True once no more events will follow. */
  ended = false
  /** Wakes the waiting senders, or `undefined` if none waits. */
  private room: Latch.Latch | undefined = undefined
  /** Opens when the stream loses its body, or `undefined` if nothing waits for that. */
  private leaving: Latch.Latch | undefined = undefined

  /** `highWater` should be as low as its use allows, because bytes that wait long are garbage-collected late. */
  constructor(highWater: number) {
    this.highWater = highWater
  }

  // ---- for senders

  /** Sends a message, as JSON. */
  write(json: string): void {
    this.push(0, `data: ${json}\n\n`)
  }

  /** Sends an event of a type. */
  event(type: string, data: string): void {
    this.push(0, `event: ${type}\ndata: ${data}\n\n`)
  }

  /** Adds an event. `seq` is its position, for a stream that numbers its events. Nothing is sent after the end. */
  protected push(seq: number, text: string): void {
    if (this.ended) return
    this.waiting.push({ seq, text })
    this.bytes += text.length
    this.body?.wake()
  }

  /** True if a sender does not have to wait. */
  writable(): boolean {
    return this.bytes < this.highWater || this.ended
  }

  /** Bytes that no body has written. */
  get backlog(): number {
    return this.bytes
  }

  /** Waits until the stream is writable. */
  get ready(): Effect.Effect<void> {
    return Effect.suspend(() => (this.writable() ? Effect.void : (this.room ??= Latch.makeUnsafe(false)).await))
  }

  protected makeRoom(): void {
    if (this.room === undefined || !this.writable()) return
    const { room } = this
    this.room = undefined
    room.openUnsafe()
  }

  /** Ends the stream. Waiting events are still written. */
  end(): void {
    this.ended = true
    this.makeRoom()
    this.body?.wake()
  }

  /** Ends the stream and drops waiting events, because no client can receive them. */
  discard(): void {
    this.clear()
    this.end()
  }

  protected clear(): void {
    this.waiting = []
    this.bytes = 0
    this.writing = 0
  }

  // ---- for bodies

  get attached(): boolean {
    return this.body !== undefined
  }

  /** Waits until there is no body. */
  get left(): Effect.Effect<void> {
    return Effect.suspend(() => (this.attached ? (this.leaving ??= Latch.makeUnsafe(false)).await : Effect.void))
  }

  /** Creates the body of a response, which takes events from now on. The previous body ends. */
  attach(): SseBody {
    this.body?.close("")
    this.release()
    this.wasAttached = true
    return (this.body = new SseBody(this))
  }

  /** Returns a function that interrupts the fiber, then detaches the body. */
  detaching(body: SseBody, fiber?: Fiber.Fiber<void>): () => void {
    return () => {
      fiber?.interruptUnsafe()
      this.detach(body)
    }
  }

  /** Called when the body's response is over. */
  detach(body: SseBody): void {
    body.close("")
    if (this.body !== body) return
    this.body = undefined
    this.leaving?.openUnsafe()
    this.leaving = undefined
    this.release()
  }

  get isEmpty(): boolean {
    return this.waiting.length === 0
  }

  take(body: SseBody): string {
    if (this.body !== body) return ""
    this.release()
    let size = 0
    const end = this.waiting.findIndex(({ text }, at) => (size += text.length) > writeSize && at > 0)
    const taken = this.waiting.splice(0, end < 0 ? Infinity : end)
    // An emptied array would keep its capacity.
    if (this.isEmpty) this.waiting = []
    const text = taken.map(({ text }) => text).join("")
    this.writing = text.length
    return text
  }

  /** Called when the last taken text has been written, or never will be. */
  private release(): void {
    if (this.writing === 0) return
    this.bytes -= this.writing
    this.writing = 0
    this.makeRoom()
  }
}

/** Creates the body of a response whose events are all available, as text. */
export const wholeBody = (events: string): SseBody => {
  const stream = new EventStream(0)
  stream.end()
  const body = stream.attach()
  body.prefix = events
  return body
}
