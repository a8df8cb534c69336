/**
 * Where the messages of one POST leave: one JSON object if the answer is all there is, else server-sent events.
 *
 * Counted in bytes like any outbox; what is sent after the answer, or after the asker has gone, is dropped. Most are answered at once:
 * what only a stream needs is made when there is one.
 */
import type { Sink } from "@effect-mcp/core/Transport"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import { Flow } from "../response/SseBody.ts"
import { takeSome } from "../../internal/takeSome.ts"

/** Above this many bytes waiting, senders wait. Not more: of what waits longer than a moment the garbage is collected late. */
const highWater = 128 * 1024

export class PostSink extends Flow implements Sink {
  /** The answer, once it was sent. */
  answer: { readonly message: JsonRpc.Message; readonly text: string } | undefined
  /** Whether something preceded the answer. */
  streaming = false
  private events: Array<string> = []
  private bytes = 0
  private closed = false
  private said: ((done: Effect.Effect<void>) => void) | undefined = undefined
  private room: Latch.Latch | undefined = undefined
  readonly writable = (): boolean => this.bytes < highWater

  /** Waits for the first message, and what is said in the same turn. */
  get first(): Effect.Effect<void> {
    return Effect.callback((resume) => {
      if (this.begun) resume(Effect.void)
      else this.said = resume
    })
  }

  private get begun(): boolean {
    return this.closed || this.streaming || this.answer !== undefined
  }

  get ready(): Effect.Effect<void> {
    return Effect.suspend(() => (this.writable() ? Effect.void : (this.room ??= Latch.makeUnsafe(false)).await))
  }

  private makeRoom(): void {
    if (this.room === undefined || !this.writable()) return
    const { room } = this
    this.room = undefined
    room.openUnsafe()
  }

  readonly send: Sink["send"] = (message) => {
    if ("length" in message) for (const one of message) this.say(one)
    else this.say(message)
  }

  private say(message: JsonRpc.Message): void {
    if (this.closed || this.answer !== undefined) return
    const text = JsonRpc.encode(message)
    if (JsonRpc.isResponse(message)) this.answer = { message, text }
    else this.streaming = true
    if (this.streaming) {
      const event = `data: ${text}\n\n`
      this.events.push(event)
      this.bytes += event.length
    }
    this.tell()
  }

  private tell(): void {
    this.wake()
    const { said } = this
    if (said === undefined) return
    this.said = undefined
    queueMicrotask(() => said(Effect.void))
  }

  /** Nobody listens any more. */
  readonly close = (): void => {
    this.closed = true
    this.events = []
    this.bytes = 0
    this.makeRoom()
    this.tell()
  }

  protected override next(): string | undefined {
    const text = takeSome(this.events)
    if (text === "" && (this.closed || this.answer !== undefined)) return undefined
    this.bytes -= text.length
    this.makeRoom()
    return text
  }
}
