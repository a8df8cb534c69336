/** A sink that shows messages to a watcher before they are sent. It only wraps another sink while a connection is being watched. */
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type { Lane, RequestHeaders, Sink } from "../transport/Transport.ts"
import type { Watcher } from "./types.ts"

export class WatchedSink implements Sink {
  private readonly below: Sink
  private readonly watcher: () => Watcher | undefined

  /** `watcher` returns `undefined` once the connection is no longer watched. */
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
