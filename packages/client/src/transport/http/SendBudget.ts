/** The characters that wait for the server, on both lanes (see `Sink`): senders of data wait for room; control messages must fit. */
import type { Lane } from "@effect-mcp/core/Transport"
import type * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"

export interface Options {
  /** Above this many characters of requests that the server has not begun to answer, more of them wait. Default 16 Mi. */
  readonly highWater?: number | undefined
  /** Above this many characters of answers and cancellations that wait (of more than one) the transport fails. Default 64 Mi. */
  readonly controlCap?: number | undefined
}

export class SendBudget {
  private readonly used = { data: 0, control: 0 }
  private readonly latch = Latch.makeUnsafe(true)
  private readonly highWater: number
  private readonly controlCap: number

  constructor({ controlCap = 64 * 1024 * 1024, highWater = 16 * 1024 * 1024 }: Options) {
    this.highWater = highWater
    this.controlCap = controlCap
  }

  /** `false` when the message does not fit; then the transport fails. */
  take(lane: Lane, size: number): boolean {
    this.used[lane] += size
    if (this.used.data >= this.highWater) this.latch.closeUnsafe()
    return lane === "data" || this.used.control <= this.controlCap || this.used.control === size
  }

  release(lane: Lane, size: number): void {
    this.used[lane] -= size
    if (this.used.data < this.highWater) this.latch.openUnsafe()
  }

  /** Lets every sender pass, when the transport ends. */
  open(): void {
    this.used.data = -Infinity
    this.latch.openUnsafe()
  }

  get writable(): boolean {
    return this.used.data < this.highWater
  }

  get ready(): Effect.Effect<void> {
    return this.latch.await
  }
}
