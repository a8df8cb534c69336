/**
 * Lets only one fiber or process at a time request new tokens. Others that share the store wait, then use its tokens.
 *
 * The lock is a lease stored with the account. It is acquired by compare-and-swap, renewed while its owner works, and released when it
 * expires. A killed process delays the others by at most 15 seconds.
 */
import * as Clock from "effect/Clock"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Effect from "effect/Effect"
import type { OAuthError } from "../shared/OAuthError.ts"
import { conflict, type StoredAccount, type Slot, type Tokens } from "./Stored.ts"

const leaseMillis = 15_000
const renewEvery = "4 seconds"
const askEvery = "100 millis"

/**
 * Returns the stored tokens if `good` accepts them. Otherwise calls `work` with the stored tokens, and stores and returns its result.
 */
export const obtain = Effect.fnUntraced(function* <E, R>(options: {
  readonly slot: Slot<StoredAccount>
  readonly good: (tokens: Tokens) => boolean
  readonly work: (tokens: Tokens | undefined) => Effect.Effect<Tokens, E, R>
  /** Returns true if the stored tokens should stay in the store after `work` fails. */
  readonly keep: () => boolean
}): Effect.fn.Return<Tokens, E | OAuthError, R> {
  const { slot, good } = options
  const owner = SecureRandom.uuidV4Unsafe()

  for (let refusals = 0; ;) {
    const now = yield* Clock.currentTimeMillis
    const { version, value } = yield* slot.read
    if (value?.tokens !== undefined && good(value.tokens)) return value.tokens
    if (value?.lease !== undefined && value.lease.until > now) {
      yield* Effect.sleep(askEvery)
      continue
    }
    if (yield* slot.swap(version, { ...value, lease: { owner, until: now + leaseMillis } })) break
    yield* conflict(++refusals)
  }

  const { value: before } = yield* slot.read
  const renew = Effect.gen(function* () {
    yield* Effect.sleep(renewEvery)
    const now = yield* Clock.currentTimeMillis
    const { version, value } = yield* slot.read
    if (value?.lease?.owner === owner)
      yield* slot.swap(version, { ...value, lease: { owner, until: now + leaseMillis } })
  })

  /** Writes the tokens and releases the lock. Writes nothing if another owner has acquired the lease. */
  const settle = Effect.fnUntraced(function* (tokens: Tokens | undefined) {
    for (let refusals = 0; ;) {
      const { version, value } = yield* slot.read
      if (value?.lease?.owner !== owner) return
      if (yield* slot.swap(version, tokens === undefined ? undefined : { tokens })) return
      yield* conflict(++refusals)
    }
  })

  return yield* Effect.uninterruptibleMask((restore) =>
    restore(Effect.raceFirst(options.work(before?.tokens), Effect.forever(renew))).pipe(
      Effect.tapCause(() => Effect.ignore(settle(options.keep() ? before?.tokens : undefined))),
      // Uninterruptible, because the authorization server may already have invalidated the old refresh token.
      Effect.tap(settle)
    )
  )
})
