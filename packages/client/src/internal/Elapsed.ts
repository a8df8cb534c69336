/** Monotonic time in milliseconds, which setting the time of day does not affect. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

const millis = (nanos: bigint): number => Number(nanos) / 1e6

export const unsafe = (clock: Clock.Clock): number => millis(clock.monotonicTimeNanosUnsafe())

export const now: Effect.Effect<number> = Effect.map(Clock.monotonicTimeNanos, millis)
