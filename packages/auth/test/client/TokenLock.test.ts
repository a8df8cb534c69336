import * as TokenLock from "@effect-mcp/auth/client/TokenLock"
import * as Stored from "@effect-mcp/auth/client/Stored"
import { makeMemory, TokenStore } from "@effect-mcp/auth/client/TokenStore"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Deferred, Effect, Fiber, Redacted } from "effect"
import { TestClock } from "effect/testing"

const tokens = (name: string): Stored.Tokens => ({
  accessToken: Redacted.make(name),
  tokenType: "Bearer",
  requested: []
})
const nameOf = ({ accessToken }: Stored.Tokens) => Redacted.value(accessToken)
const place = { issuer: "https://auth.example.com", resource: "https://mcp.example.com" }
const setup = () => {
  const store = makeMemory()
  return { store, slot: Stored.accountOf(store, place) }
}
const isNew = (found: Stored.Tokens) => nameOf(found) === "new"

describe("TokenLock", () => {
  it.effect("A valid stored token is used as it is", () =>
    Effect.gen(function* () {
      const { slot } = setup()
      yield* slot.write({ tokens: tokens("new") })
      const got = yield* TokenLock.obtain({ slot, good: isNew, keep: () => true, work: () => Effect.die("not needed") })
      assert.strictEqual(nameOf(got), "new")
    })
  )

  it.effect("A fiber waiting for the lock uses its owner's tokens", () =>
    Effect.gen(function* () {
      const { slot } = setup()
      yield* slot.write({ tokens: tokens("old") })
      const gate = yield* Deferred.make<void>()
      const obtain = (work: (found: Stored.Tokens | undefined) => Effect.Effect<Stored.Tokens>) =>
        Effect.forkChild(TokenLock.obtain({ slot, good: isNew, keep: () => true, work }), { startImmediately: true })
      const first = yield* obtain((found) => {
        assert.strictEqual(found && nameOf(found), "old")
        return Effect.as(Deferred.await(gate), tokens("new"))
      })
      const second = yield* obtain(() => Effect.die("the first is at work"))
      // Longer than a lease, which the first client renews while it works.
      yield* TestClock.adjust("10 minutes")
      yield* Deferred.succeed(gate, undefined)
      assert.strictEqual(nameOf(yield* Fiber.join(first)), "new")
      yield* TestClock.adjust("1 second")
      assert.strictEqual(nameOf(yield* Fiber.join(second)), "new")
      assert.isUndefined((yield* slot.read).value?.lease)
    })
  )

  it.effect("A killed process delays other processes for seconds only", () =>
    Effect.gen(function* () {
      const { slot } = setup()
      const now = yield* Clock.currentTimeMillis
      yield* slot.write({ tokens: tokens("old"), lease: { owner: "dead", until: now + 15_000 } })
      const fiber = yield* Effect.forkChild(
        TokenLock.obtain({ slot, good: isNew, keep: () => true, work: () => Effect.succeed(tokens("new")) }),
        { startImmediately: true }
      )
      yield* TestClock.adjust("14 seconds")
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual(nameOf(yield* Fiber.join(fiber)), "new")
    })
  )

  it.effect("Failed work keeps the stored tokens, unless its options discard them", () =>
    Effect.gen(function* () {
      for (const [keep, left] of [
        [true, "old"],
        [false, undefined]
      ] as const) {
        const { slot } = setup()
        yield* slot.write({ tokens: tokens("old") })
        const error = yield* Effect.flip(
          TokenLock.obtain({ slot, good: isNew, keep: () => keep, work: () => Effect.fail("no") })
        )
        assert.strictEqual(error, "no")
        const { value } = yield* slot.read
        assert.strictEqual(value?.tokens && nameOf(value.tokens), left)
        assert.isUndefined(value?.lease)
      }
    })
  )

  it.effect("Interrupted work leaves no lease behind", () =>
    Effect.gen(function* () {
      const { slot } = setup()
      yield* slot.write({ tokens: tokens("old") })
      const fiber = yield* Effect.forkChild(
        TokenLock.obtain({ slot, good: isNew, keep: () => true, work: () => Effect.never }),
        { startImmediately: true }
      )
      assert.isDefined((yield* slot.read).value?.lease)
      yield* Fiber.interrupt(fiber)
      const { value } = yield* slot.read
      assert.deepStrictEqual([value?.lease, value?.tokens && nameOf(value.tokens)], [undefined, "old"])
    })
  )

  it.effect("An owner with an expired lease overwrites nothing", () =>
    Effect.gen(function* () {
      const { slot } = setup()
      const obtained = yield* TokenLock.obtain({
        slot,
        good: isNew,
        keep: () => true,
        work: () => Effect.as(slot.write({ tokens: tokens("of another") }), tokens("late"))
      })
      assert.strictEqual(nameOf(obtained), "late")
      const { value } = yield* slot.read
      assert.strictEqual(value?.tokens && nameOf(value.tokens), "of another")
    })
  )
})

const nonsense: any = Effect.succeed(7)
const broken: ReadonlyArray<readonly [string, Partial<TokenStore["Service"]>]> = [
  ["rejects every swap", { swap: () => Effect.succeed(false) }],
  ["never returns from swap", { swap: () => Effect.never }],
  ["never returns from read", { read: () => Effect.never }],
  ["returns nonsense from swap", { swap: () => nonsense }],
  ["returns nonsense from read", { read: () => nonsense }],
  ["returns no Effect", { read: (() => Promise.resolve({ version: 0, text: undefined })) as any }],
  [
    "throws",
    {
      swap: () => {
        throw new Error("secret")
      }
    }
  ]
]

describe.each(broken)("A store that %s", (_title, bad) => {
  /** Returns the error of an attempt whose store fails after some calls. */
  const failed = (after: number) =>
    Effect.gen(function* () {
      let calls = 0
      const memory = makeMemory()
      const store = TokenStore.of({
        read: (key) => (calls++ >= after && bad.read !== undefined ? bad.read(key) : memory.read(key)),
        swap: (...args) => (calls++ >= after && bad.swap !== undefined ? bad.swap(...args) : memory.swap(...args))
      })
      const slot = Stored.accountOf(store, place)
      const work = () => Effect.succeed(tokens("new"))
      const fiber = yield* Effect.forkChild(
        Effect.flip(TokenLock.obtain({ slot, good: isNew, keep: () => true, work })),
        { startImmediately: true }
      )
      yield* TestClock.adjust("1 minute")
      return yield* Fiber.join(fiber)
    })

  it.effect.each([0, 1, 3])("fails the attempt if it breaks after %i calls", (after) =>
    Effect.gen(function* () {
      const error = yield* failed(after)
      assert.deepInclude(error, { _tag: "OAuthError", step: "storage" })
      assert.notInclude(error.message, "secret")
    })
  )
})
