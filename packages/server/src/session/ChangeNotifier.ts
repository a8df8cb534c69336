/**
 * List changes and resource updates for one client. They are collected in sets and sent when the transport has room, so a burst results in
 * a single message, and a slow reader costs no memory.
 */
import type { ListKind } from "@effect-mcp/protocol/MethodInfo"
import * as Effect from "effect/Effect"

export interface Subscriber {
  /** Returns true if the transport has room now, and false if it has none or cannot tell; then a fiber must wait for `ready`. */
  readonly writable: () => boolean
  /** Completes when the transport has room. */
  readonly ready: Effect.Effect<void>
  /** Runs an effect in a fiber of the subscriber. */
  readonly fork: (effect: Effect.Effect<void>) => void
  readonly sendList: (kind: ListKind) => void
  readonly sendUpdate: (uri: string) => void
}

export class ChangeNotifier {
  /** Created by the first change. */
  private lists: Set<ListKind> | undefined = undefined
  private uris: Set<string> | undefined = undefined
  private readonly subscriber: Subscriber
  private opened = false
  private sending = false

  constructor(subscriber: Subscriber) {
    this.subscriber = subscriber
  }

  /** Sends the collected changes, and every change from now on. */
  open(): void {
    this.opened = true
    this.schedule()
  }

  /** Stops sending. */
  close(): void {
    this.opened = false
  }

  listChanged(kind: ListKind): void {
    this.lists = (this.lists ?? new Set()).add(kind)
    this.schedule()
  }

  resourceUpdated(uri: string): void {
    this.uris = (this.uris ?? new Set()).add(uri)
    this.schedule()
  }

  private schedule(): void {
    if (this.sending || !this.opened || (this.lists ?? this.uris) === undefined) return
    this.sending = true
    // Changes within one microtask turn become one message.
    queueMicrotask(() => {
      const { subscriber } = this
      try {
        if (subscriber.writable()) this.send()
        else subscriber.fork(Effect.map(subscriber.ready, () => this.send()))
      } catch (defect) {
        // A defect of a user's transport, thrown from a microtask, would end the process.
        subscriber.fork(Effect.die(defect))
      }
    })
  }

  private send(): void {
    if (!this.opened) return
    const { lists = [], uris = [] } = this
    this.lists = undefined
    this.uris = undefined
    this.sending = false
    for (const kind of lists) this.subscriber.sendList(kind)
    for (const uri of uris) this.subscriber.sendUpdate(uri)
  }
}
