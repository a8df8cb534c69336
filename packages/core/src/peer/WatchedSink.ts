/** A sink whose messages are shown to a watcher before they leave. It stands in for another one only while a conversation is watched. */
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type { Lane, RequestHeaders, Sink } from "../transport/Transport.ts"
import type { Watcher } from "./types.ts"

export class WatchedSink implements Sink {
  private readonly below: Sink
  private readonly watcher: () => Watcher | undefined

  /** `watcher`: undefined once the conversation is watched no more. */
  constructor(below: Sink, watcher: () => Watcher | undefined) {
    this.below = below
    this.watcher = watcher
  }

  send(
    message: JsonRpc.Message | ReadonlyArray<JsonRpc.Message>,
    lane: Lane,
    relatedTo?: JsonRpc.Id,
    headers?: RequestHeaders
  ): void {
    const watcher = this.watcher()
    if (watcher !== undefined) for (const one of JsonRpc.isBatch(message) ? message : [message]) watcher("sent", one)
    this.below.send(message, lane, relatedTo, headers)
  }

  noAnswer(relatedTo: JsonRpc.Id): void {
    this.below.noAnswer?.(relatedTo)
  }

  get closeStream(): ((retry?: Duration.Input) => void) | undefined {
    const { below } = this
    return below.closeStream === undefined ? undefined : (retry) => below.closeStream?.(retry)
  }

  writable(): boolean {
    return this.below.writable()
  }

  get ready(): Effect.Effect<void> {
    return this.below.ready
  }

  get room(): Effect.Effect<void> | undefined {
    return this.below.room
  }

  isRead(): boolean {
    return this.below.isRead?.() !== false
  }

  get left(): Effect.Effect<void> | undefined {
    return this.below.left
  }

  get backlog(): (() => number) | undefined {
    const { below } = this
    return below.backlog === undefined ? undefined : () => below.backlog?.() ?? 0
  }

  get unkept(): (() => number) | undefined {
    const { below } = this
    return below.unkept === undefined ? undefined : () => below.unkept?.() ?? 0
  }
}
