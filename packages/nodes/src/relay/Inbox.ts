/** Buffers the bytes of a response from another node until they are consumed. */
import type { RelayError } from "@effect-mcp/server/Nodes"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"

/** Maximum bytes in transit and in the buffer. */
export const window = 256 * 1024

type Pulled = Effect.Effect<readonly [Uint8Array], RelayError | Cause.Done>

export class Inbox {
  private readonly consumed: (bytes: number) => void
  private parts: Array<Uint8Array> = []
  /** The end that follows the parts, or `undefined` while more parts may arrive. */
  private last: Pulled | undefined = undefined
  private waiting: ((pulled: Pulled) => void) | undefined = undefined
  /** Consumed bytes that have not been reported yet. */
  private untold = 0

  /** `consumed` is called with the number of bytes that there is room for again. */
  constructor(consumed: (bytes: number) => void) {
    this.consumed = consumed
  }

  push(part: Uint8Array): void {
    this.parts.push(part)
    this.wake()
  }

  /** Marks that no more parts follow. */
  end(error?: RelayError): void {
    this.last ??= error === undefined ? Cause.done() : Effect.fail(error)
    this.wake()
  }

  private wake(): void {
    const { waiting } = this
    this.waiting = undefined
    waiting?.(this.next())
  }

  private next(): Pulled {
    const part = this.parts.shift()
    if (part === undefined) return this.last ?? this.wait
    this.untold += part.length
    if (this.untold >= window / 2) {
      this.consumed(this.untold)
      this.untold = 0
    }
    return Effect.succeed([part])
  }

  private readonly wait: Pulled = Effect.callback((resume) => {
    this.waiting = resume
    return Effect.sync(() => {
      this.waiting = undefined
    })
  })

  readonly stream: Stream.Stream<Uint8Array, RelayError> = Stream.fromPull(
    Effect.succeed(Effect.suspend(() => this.next()))
  )
}
