/**
 * Lists everything running on a server: client requests (with or without a session), subscriptions, questions to clients, and tasks.
 *
 * Signals changes; `RequestReader` reads them.
 */
import * as Effect from "effect/Effect"
import * as PubSub from "effect/PubSub"
import * as Stream from "effect/Stream"
import { type Options, RequestReader } from "./RequestReader.ts"
import type { RequestRow } from "./RequestRow.ts"

export type { RequestRow } from "./RequestRow.ts"

/** A view of a server's requests. */
export interface RequestsView {
  /**
   * Running and waiting items, oldest first. A request that is answered immediately is never listed. In 2026-07-28 a question ends its
   * request, so there are no pending questions. Tasks include those running in this process, and those in its store that no process is
   * running.
   */
  readonly list: Effect.Effect<ReadonlyArray<RequestRow>>
  /**
   * Interrupts the request with this key. Returns false if it has already ended. Its finalizers run, and then the client receives -31503
   * with the reason. A handler that masks interruption finishes first. A `subscriptions/listen` responds with its result. A session's
   * resource subscription simply ends. A question fails with -31503 in the handler that asked it, and is cancelled on the client. A task is
   * cancelled, with the reason as its message.
   */
  readonly interrupt: (key: string, reason: string) => Effect.Effect<boolean>
  /**
   * Emits when `list` changes, except for progress and state changes. A slow reader receives a single event for many changes. Costs nothing
   * while nobody is reading.
   */
  readonly changes: Stream.Stream<void>
}

export class RequestView implements RequestsView {
  /** A reader that hasn't read the previous change doesn't need another one. */
  private readonly signal = Effect.runSync(PubSub.dropping<void>(1))
  readonly list: RequestsView["list"]
  readonly interrupt: RequestsView["interrupt"]

  constructor(options: Options) {
    const { interrupt, list } = new RequestReader(options)
    this.list = list
    this.interrupt = interrupt
    options.tasks.listen(() => this.changed())
  }

  /** Called when a request begins or ends. */
  readonly changed = (): void => void PubSub.publishUnsafe(this.signal, undefined)

  readonly changes: Stream.Stream<void> = Stream.fromPubSub(this.signal)
}
