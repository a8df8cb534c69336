/**
 * A stream of server-sent events: holds what its body has not written, so it may outlive a body and have another.
 *
 * Owns the order of events, the room for senders and which body is written. Refuses ids and resumption: those are `ResumableStream`'s.
 */
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Latch from "effect/Latch"
import { batchSize, EventBatch } from "./EventBatch.ts"
import { type EventSource, SseBody } from "./SseBody.ts"

export class EventStream implements EventSource {
  /** Bytes that may wait before senders do. */
  readonly highWater: number
  /** Events that no body has taken, oldest first; only the last batch may be open. */
  protected waiting: Array<EventBatch> = []
  /** Length of `waiting` and `writing`. */
  protected bytes = 0
  /** Length of what the body has taken last: it counts until the wire asks for more, so that a slow reader is noticed. */
  private writing = 0
  /** The body that takes events; undefined before the first, and after its response ended. */
  protected body: SseBody | undefined = undefined
  /** Whether there ever was a body. */
  wasAttached = false
  /** Whether no event will follow; never false again. */
  ended = false
  /** What senders wait for; undefined while none waits. */
  private room: Latch.Latch | undefined = undefined
  /** Opened when it has no body any more; undefined while nothing waits for that. */
  private leaving: Latch.Latch | undefined = undefined

  /** `highWater` is as low as its use allows: of bytes that wait long the garbage is collected late. */
  constructor(highWater: number) {
    this.highWater = highWater
  }

  // ---- for senders

  /** A message, as JSON. */
  write(json: string): void {
    this.push(0, `data: ${json}\n\n`)
  }

  /** An event of a type. */
  event(type: string, data: string): void {
    this.push(0, `event: ${type}\ndata: ${data}\n\n`)
  }

  /** `seq`: the place of the event, for a stream that numbers them. Nothing is sent after the end. */
  protected push(seq: number, text: string): EventBatch | undefined {
    if (this.ended) return undefined
    let batch = this.waiting.at(-1)
    if (batch?.isOpen !== true) this.waiting.push((batch = new EventBatch(seq)))
    batch.add(text)
    this.bytes += text.length
    this.body?.wake()
    return batch
  }

  /** Whether a sender need not wait. */
  writable(): boolean {
    return this.bytes < this.highWater || this.ended
  }

  /** Bytes that no body has written. */
  get backlog(): number {
    return this.bytes
  }

  /** Waits until it is writable. */
  get ready(): Effect.Effect<void> {
    return Effect.suspend(() => (this.writable() ? Effect.void : (this.room ??= Latch.makeUnsafe(false)).await))
  }

  protected makeRoom(): void {
    if (this.room === undefined || !this.writable()) return
    const { room } = this
    this.room = undefined
    room.openUnsafe()
  }

  /** No event will follow; those that wait are still written. */
  end(): void {
    this.ended = true
    this.makeRoom()
    this.body?.wake()
  }

  /** Ends the stream and drops what waits: no client can receive it. */
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

  /** The body of a response, which takes events from now on; an older body ends. */
  attach(): SseBody {
    this.body?.close("")
    this.release()
    this.wasAttached = true
    return (this.body = new SseBody(this))
  }

  /** `detach`, which first interrupts the fiber. */
  detaching(body: SseBody, fiber?: Fiber.Fiber<void>): () => void {
    return () => {
      fiber?.interruptUnsafe()
      this.detach(body)
    }
  }

  /** The response of that body is over. */
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
    let text = this.waiting.shift()?.close() ?? ""
    for (let next = this.waiting[0]; next !== undefined; next = this.waiting[0]) {
      if (text.length + next.text.length > batchSize) break
      text += next.close()
      this.waiting.shift()
    }
    this.writing = text.length
    // An emptied array keeps its capacity.
    if (this.isEmpty) this.waiting = []
    return text
  }

  /** What was taken last has been written, or never will be. */
  private release(): void {
    if (this.writing === 0) return
    this.bytes -= this.writing
    this.writing = 0
    this.makeRoom()
  }
}

/** The body of a response whose events are all there, as text. */
export const wholeBody = (events: string): SseBody => {
  const stream = new EventStream(0)
  stream.end()
  const body = stream.attach()
  body.prefix = events
  return body
}
