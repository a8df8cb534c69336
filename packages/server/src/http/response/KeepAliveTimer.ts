/**
 * The one timer by which all streams of an endpoint say that they are alive: most of them wait most of the time.
 *
 * Owns who waits, and since when. It runs as long as somebody does: before that there must not be as much as a timer, where code is only
 * loaded (Workers), nor after.
 */
import type * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"

/** What waits for something to write. */
export interface Waiting {
  /** It has waited for so long that it is to say something. It does not wait any more. */
  readonly overdue: () => void
}

export class Pulse {
  private readonly every: number
  private readonly clock: Clock.Clock
  private readonly fork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>
  /** Who waits, and when it is to be told. All wait for as long: who came first is told first. */
  private readonly waiting = new Map<Waiting, number>()
  private beating: Fiber.Fiber<void> | undefined = undefined

  /** `every`: 0 is never. `fork` runs an effect in the scope of the endpoint. */
  constructor(every: Duration.Input, clock: Clock.Clock, fork: Pulse["fork"]) {
    this.every = Duration.toMillis(Duration.fromInputUnsafe(every)) || Infinity
    this.clock = clock
    this.fork = fork
  }

  /** In milliseconds since some moment: the time of day may be set while a stream waits. */
  private get now(): number {
    return Number(this.clock.monotonicTimeNanosUnsafe()) / 1e6
  }

  /** It waits from now on. */
  add(one: Waiting): void {
    this.waiting.delete(one)
    this.waiting.set(one, this.now + this.every)
    if (this.every !== Infinity) this.beating ??= this.fork(this.beat)
  }

  /** It does not wait any more. */
  remove(one: Waiting): void {
    if (!this.waiting.delete(one) || this.waiting.size > 0) return
    this.beating?.interruptUnsafe()
    this.beating = undefined
  }

  private tell(): void {
    const { now } = this
    for (const [one, due] of this.waiting) {
      if (due > now) break
      this.waiting.delete(one)
      one.overdue()
    }
  }

  private readonly beat: Effect.Effect<void> = Effect.suspend(() => {
    this.tell()
    const [first] = this.waiting.values()
    if (first === undefined) {
      this.beating = undefined
      return Effect.void
    }
    return Effect.andThen(Effect.sleep(Math.ceil(first - this.now)), this.beat)
  })
}
