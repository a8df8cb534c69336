/**
 * Who has waited for long enough: one fiber watches the time for all that wait, since many do and few wait for long.
 *
 * Unlike `Pulse` it is for what comes and goes thousands of times a second: when nothing waits any more it finds that out by itself.
 */
import { BusyMap } from "@effect-mcp/core/internal/BusyMap"
import type * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { Waiting } from "./KeepAliveTimer.ts"

export class Patience {
  private readonly millis: number
  private readonly clock: Clock.Clock
  private readonly fork: (effect: Effect.Effect<void>) => unknown
  /** Who waits, and until when. All wait for as long: who came first is told first. */
  private readonly waiting = new BusyMap<Waiting, number>()
  private watching = false

  /** `fork` runs an effect in the scope of the endpoint. */
  constructor(patience: Duration.Input, clock: Clock.Clock, fork: Patience["fork"]) {
    this.millis = Duration.toMillis(Duration.fromInputUnsafe(patience))
    this.clock = clock
    this.fork = fork
  }

  /** In milliseconds since some moment: the time of day may be set meanwhile. */
  private get now(): number {
    return Number(this.clock.monotonicTimeNanosUnsafe()) / 1e6
  }

  /** What `effect` comes to; `one` is told when that takes too long. */
  during<A>(effect: Effect.Effect<A>, one: Waiting): Effect.Effect<A> {
    return Effect.suspend(() => {
      this.waiting.set(one, this.now + this.millis)
      if (!this.watching) {
        this.watching = true
        this.fork(this.watch)
      }
      return Effect.onExit(effect, () => {
        this.waiting.delete(one)
        return Effect.void
      })
    })
  }

  private readonly watch: Effect.Effect<void> = Effect.suspend(() => {
    const { now, waiting } = this
    for (const one of waiting.keys()) {
      const rest = (waiting.get(one) ?? now) - now
      if (rest > 0) return Effect.andThen(Effect.sleep(Math.ceil(rest)), this.watch)
      waiting.delete(one)
      one.overdue()
    }
    this.watching = false
    return Effect.void
  })
}
