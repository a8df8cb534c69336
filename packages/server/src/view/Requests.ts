/**
 * What runs at a server now: requests of its clients, with or without a session, subscriptions, questions to clients, and tasks.
 *
 * Says when that changes; reads it by `RequestReader`.
 */
import * as Effect from "effect/Effect"
import * as PubSub from "effect/PubSub"
import * as Stream from "effect/Stream"
import { type Options, RequestReader } from "./RequestReader.ts"
import type { RequestRow } from "./RequestRow.ts"

export type { RequestRow } from "./RequestRow.ts"

/** The view of a server's requests. */
export interface RequestsView {
  /**
   * Those that run or wait, the oldest first. A request that is answered at once is never among them. In 2026-07-28 a question ends its
   * request, so there are none that wait for answers. Tasks are those of this process, and those of its store that no process runs.
   */
  readonly list: Effect.Effect<ReadonlyArray<RequestRow>>
  /**
   * Interrupts the request of that key; false where it has ended. Its finalizers run, and the client is answered by -31503 with the reason
   * once they have; a handler that masks interruption ends first. `subscriptions/listen` is answered by its result. A resource subscription of a session just
   * ends. A question fails with -31503 in the handler that asks, and is cancelled at the client. A task is cancelled, with the reason as its
   * message.
   */
  readonly interrupt: (key: string, reason: string) => Effect.Effect<boolean>
  /**
   * One event when `list` has changed, but for progress and new states. A slow reader gets one event for many changes; it costs nothing
   * while it is not read.
   */
  readonly changes: Stream.Stream<void>
}

export class RequestView implements RequestsView {
  /** One change is enough for a reader that has not read the one before. */
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
