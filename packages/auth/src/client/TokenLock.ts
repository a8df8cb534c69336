/**
 * Who gets new tokens when several fibers and processes share a store: one at a time, the others take what it got.
 *
 * The lease is part of the stored account, taken by compare-and-swap, renewed while its owner works, and free again when it stops being
 * renewed: a killed process holds the others up for seconds, not for ever.
 */
import * as Clock from "effect/Clock"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Effect from "effect/Effect"
import type { OAuthError } from "../shared/OAuthError.ts"
import type { Account, Slot, Tokens } from "./Stored.ts"

const leaseMillis = 15_000
const renewEvery = "4 seconds"
const askEvery = "100 millis"

/**
 * Tokens that are good: those in the store if `good` says so, else those that `work` gets, which are stored. `work` is given what the
 * store has.
 */
export const obtain = Effect.fnUntraced(function* <E, R>(options: {
  readonly slot: Slot<Account>
  readonly good: (tokens: Tokens) => boolean
  readonly work: (tokens: Tokens | undefined) => Effect.Effect<Tokens, E, R>
  /** Whether what the store had is still worth something after `work` failed. */
  readonly keep: () => boolean
}): Effect.fn.Return<Tokens, E | OAuthError, R> {
  const { slot, good } = options
  const owner = SecureRandom.uuidV4Unsafe()

  while (true) {
    const now = yield* Clock.currentTimeMillis
    const { version, value } = yield* slot.read
    if (value?.tokens !== undefined && good(value.tokens)) return value.tokens
    if (value?.lease !== undefined && value.lease.until > now) {
      yield* Effect.sleep(askEvery)
      continue
    }
    if (yield* slot.swap(version, { ...value, lease: { owner, until: now + leaseMillis } })) break
  }

  const { value: before } = yield* slot.read
  const renew = Effect.gen(function* () {
    yield* Effect.sleep(renewEvery)
    const now = yield* Clock.currentTimeMillis
    const { version, value } = yield* slot.read
    if (value?.lease?.owner === owner)
      yield* slot.swap(version, { ...value, lease: { owner, until: now + leaseMillis } })
  })

  /** Writes the end of our work, unless the lease was lost meanwhile: then what is there is somebody else's. */
  const settle = Effect.fnUntraced(function* (tokens: Tokens | undefined) {
    while (true) {
      const { version, value } = yield* slot.read
      if (value?.lease?.owner !== owner) return
      if (yield* slot.swap(version, tokens === undefined ? undefined : { tokens })) return
    }
  })

  return yield* Effect.uninterruptibleMask((restore) =>
    restore(Effect.raceFirst(options.work(before?.tokens), Effect.forever(renew))).pipe(
      Effect.tapCause(() => Effect.ignore(settle(options.keep() ? before?.tokens : undefined))),
      // From here on nothing interrupts: the authorization server may have used up the old refresh token.
      Effect.tap(settle)
    )
  )
})
