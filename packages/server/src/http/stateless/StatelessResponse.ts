/**
 * The response to one POST of the stateless era: JSON if the answer is the only message, else a stream of events.
 *
 * What is sent after the answer, or after the client has gone, is dropped. Most answers are ready at once, so a stream is made when the
 * first other message is sent.
 */
import type { Sink } from "@effect-mcp/core/Transport"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as Effect from "effect/Effect"
import { EventStream } from "../response/EventStream.ts"

/** Bytes that may wait before senders do. */
const highWater = 128 * 1024

export class StatelessResponse implements Sink {
  /** The answer, once it was sent; never undefined again. */
  answer: { readonly message: JsonRpc.Message; readonly text: string } | undefined = undefined
  /** Set by the first message that is no answer: then the response is a stream. Ended by the answer, or when the client goes. */
  stream: EventStream | undefined = undefined
  /** Whether the client has gone. */
  private closed = false
  /** Continues the fiber that waits for the decision; undefined while none waits. */
  private resume: ((done: Effect.Effect<void>) => void) | undefined = undefined

  /** Whether it is known that the response is JSON, or a stream. */
  get isDecided(): boolean {
    return this.closed || this.stream !== undefined || this.answer !== undefined
  }

  /** Waits until it is decided, and for what is sent in the same turn. */
  get decided(): Effect.Effect<void> {
    return Effect.callback((resume) => {
      if (this.isDecided) resume(Effect.void)
      else this.resume = resume
    })
  }

  writable(): boolean {
    return this.stream?.writable() ?? true
  }

  get ready(): Effect.Effect<void> {
    return Effect.suspend(() => this.stream?.ready ?? Effect.void)
  }

  send(message: JsonRpc.Message | ReadonlyArray<JsonRpc.Message>): void {
    if ("length" in message) for (const one of message) this.sendOne(one)
    else this.sendOne(message)
  }

  private sendOne(message: JsonRpc.Message): void {
    if (this.closed || this.answer !== undefined) return
    const text = JsonRpc.encode(message)
    if (JsonRpc.isResponse(message)) this.answer = { message, text }
    else this.stream ??= new EventStream(highWater)
    this.stream?.write(text)
    if (this.answer !== undefined) this.stream?.end()
    this.decide()
  }

  private decide(): void {
    const { resume } = this
    if (resume === undefined) return
    this.resume = undefined
    queueMicrotask(() => resume(Effect.void))
  }

  /** The client has gone, or has the whole response. */
  close(): void {
    this.closed = true
    this.stream?.discard()
    this.decide()
  }
}
