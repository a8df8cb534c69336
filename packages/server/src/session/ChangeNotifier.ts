/**
 * Hints that something is stale: a set, sent when the wire has room, so a burst costs one message and a slow reader costs nothing.
 */
import * as Effect from "effect/Effect"

/** Lists whose change is announced. */
export type ListKind = "tools" | "resources" | "prompts"

export interface Options {
  /** Whether the wire has room at this moment, where that can be told: then there is no fiber for it. */
  readonly writable: () => boolean
  /** Returns when the wire has room. */
  readonly ready: Effect.Effect<void>
  /** Runs an effect in a fiber of the announcer's owner. */
  readonly fork: (effect: Effect.Effect<void>) => void
  readonly sendList: (kind: ListKind) => void
  readonly sendUpdate: (uri: string) => void
}

export class Announcer {
  /** Made when there is something to announce: most of the time there is not. */
  private lists: Set<ListKind> | undefined = undefined
  private uris: Set<string> | undefined = undefined
  private readonly options: Options
  private opened = false
  private sending = false

  constructor(options: Options) {
    this.options = options
  }

  /** From now on hints are sent; those collected in the meantime at once. */
  open(): void {
    this.opened = true
    this.announce()
  }

  /** Nothing is sent from now on. */
  close(): void {
    this.opened = false
  }

  listChanged(kind: ListKind): void {
    this.lists = (this.lists ?? new Set()).add(kind)
    this.announce()
  }

  resourceUpdated(uri: string): void {
    this.uris = (this.uris ?? new Set()).add(uri)
    this.announce()
  }

  private announce(): void {
    if (this.sending || !this.opened || (this.lists ?? this.uris) === undefined) return
    this.sending = true
    // One turn's changes become one message.
    queueMicrotask(() => {
      const { options } = this
      try {
        if (options.writable()) this.send()
        else options.fork(Effect.map(options.ready, () => this.send()))
      } catch (defect) {
        // Of a wire of somebody's own: thrown from here it would end the process.
        options.fork(Effect.die(defect))
      }
    })
  }

  private send(): void {
    if (!this.opened) return
    const { lists = [], uris = [] } = this
    this.lists = undefined
    this.uris = undefined
    this.sending = false
    for (const kind of lists) this.options.sendList(kind)
    for (const uri of uris) this.options.sendUpdate(uri)
  }
}
