/**
 * Where the messages of one POST leave: one JSON object if the answer is all there is, else server-sent events.
 *
 * Counted in bytes like any outbox; what is sent after the answer, or after the asker has gone, is dropped.
 */
import type { Sink } from "@effect-mcp/core/Transport"
import * as Turn from "@effect-mcp/core/Turn"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as Cause from "effect/Cause"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { takeSome } from "./takeSome.ts"

/** Above this many bytes waiting, senders wait. Not more: of what waits longer than a moment the garbage is collected late. */
const highWater = 128 * 1024
const encoder = new TextEncoder()
const comment = encoder.encode(": keep-alive\n\n")

export class PostSink implements Sink {
  /** The answer, once it was sent. */
  answer: { readonly message: JsonRpc.Message; readonly text: string } | undefined
  /** Whether something preceded the answer. */
  streaming = false
  private events: Array<string> = []
  private bytes = 0
  private closed = false
  private readonly said = Latch.makeUnsafe(false)
  private readonly room = Latch.makeUnsafe(true)
  /** Waits for the first message. */
  readonly first: Effect.Effect<void> = this.said.await
  readonly ready: Effect.Effect<void> = this.room.await
  readonly writable = (): boolean => this.bytes < highWater

  readonly send: Sink["send"] = (message) => {
    const messages: ReadonlyArray<JsonRpc.Message> = "length" in message ? message : [message]
    for (const message of messages) {
      if (this.closed || this.answer !== undefined) return
      const text = JsonRpc.encode(message)
      if (JsonRpc.isResponse(message)) this.answer = { message, text }
      else this.streaming = true
      if (this.streaming) this.push(`data: ${text}\n\n`)
      if (!this.writable()) this.room.closeUnsafe()
      this.said.openUnsafe()
    }
  }

  private push(event: string): void {
    this.events.push(event)
    this.bytes += event.length
  }

  /** Nobody listens any more. */
  readonly close = (): void => {
    this.closed = true
    this.events = []
    this.bytes = 0
    this.room.openUnsafe()
    this.said.openUnsafe()
  }

  /** What was sent and will be, up to the answer; a comment whenever nothing was for as long as `keepAlive`. */
  readonly stream = (keepAlive: Duration.Input): Stream.Stream<Uint8Array> => {
    const waited = Effect.timeoutOption(this.first, keepAlive)
    const pull: Effect.Effect<readonly [Uint8Array], Cause.Done> = Effect.suspend(() => {
      if (this.events.length > 0) {
        const text = takeSome(this.events)
        this.bytes -= text.length
        if (this.writable()) this.room.openUnsafe()
        return Effect.succeed([encoder.encode(text)] as const)
      }
      if (this.closed || this.answer !== undefined) return Cause.done()
      this.said.closeUnsafe()
      return Effect.flatMap(waited, (woken) => (Option.isSome(woken) ? next : Effect.succeed([comment] as const)))
    })
    // Events of one turn are one write.
    const next = Effect.andThen(Turn.end, pull)
    return Stream.fromPull(Effect.succeed(pull))
  }
}
