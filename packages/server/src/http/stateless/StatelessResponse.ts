/**
 * The response to a stateless POST: JSON if the JSON-RPC response is the only message, and an event stream otherwise.
 *
 * Messages are dropped if they come after the response, or after the client has disconnected. Most responses are ready immediately, so the
 * stream is only created when another message is sent first.
 */
import type { Sink } from "@effect-mcp/core/Transport"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as Effect from "effect/Effect"
import { EventStream } from "../response/EventStream.ts"

/** Number of bytes that may wait before senders are suspended. */
const highWater = 128 * 1024

export class StatelessResponse implements Sink {
  /** The response, once it has been sent. */
  answer: { readonly message: JsonRpc.Message; readonly text: string } | undefined = undefined
  /**
   * Set by the first message that is not an answer, which makes the response a stream. Ended by the answer, or when the client disconnects.
   */
  stream: EventStream | undefined = undefined
  /** True if the client has disconnected. */
  private closed = false
  /** Resumes the fiber waiting for the decision, or `undefined` if none is waiting. */
  private resume: ((done: Effect.Effect<void>) => void) | undefined = undefined

  /** True if it is decided whether the response is JSON or a stream. */
  get isDecided(): boolean {
    return this.closed || this.stream !== undefined || this.answer !== undefined
  }

  /** Waits until that is decided, and for everything sent in the same turn. */
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

  /** Called when the client has disconnected or received the entire response. */
  close(): void {
    this.closed = true
    this.stream?.discard()
    this.decide()
  }
}
