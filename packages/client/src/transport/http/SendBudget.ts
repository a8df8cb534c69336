/**
 * Limits the number of characters waiting for the server, on both lanes (see `Sink`). Senders of data wait for room, while control messages
 * must fit.
 */
import type { Lane } from "@effect-mcp/core/Transport"
import type * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"

export interface Options {
  /** Total characters of unanswered requests above which further requests wait. Default 16 Mi. */
  readonly highWater?: number | undefined
  /** Total characters of several waiting answers and cancellations above which the transport fails. Default 64 Mi. */
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

  /** Returns `false` if the message does not fit, in which case the transport fails. */
  take(lane: Lane, size: number): boolean {
    this.used[lane] += size
    if (this.used.data >= this.highWater) this.latch.closeUnsafe()
    return lane === "data" || this.used.control <= this.controlCap || this.used.control === size
  }

  release(lane: Lane, size: number): void {
    this.used[lane] -= size
    if (this.used.data < this.highWater) this.latch.openUnsafe()
  }

  /** Releases all waiting senders when the transport ends. */
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
