import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer, Redacted, Schema } from "effect"
import { TestClock } from "effect/testing"
import type * as Journal from "../../src/mrtr/Journal.ts"
import * as ReplayGuard from "../../src/mrtr/ReplayGuard.ts"
import * as StateSeal from "../../src/mrtr/StateSeal.ts"

const key = (id: string, fill: number): StateSeal.SealingKey => ({
  id,
  key: Redacted.make(new Uint8Array(32).fill(fill))
})
const journal: Journal.RoundJournal = {
  answers: { "elicitation/create:x#0": { action: "accept", content: { name: "Ada" } } },
  steps: { hold: "T-1" },
  open: { q: "q" },
  round: 1
}
const binding = JSON.stringify(["alice", "2026-07-28", "tools/call", "book", { guests: 2 }])

const refuses = (state: string, at = binding) =>
  Effect.gen(function* () {
    const seal = yield* StateSeal.StateSeal
    const error = yield* Effect.flip(seal.open(state, at))
    assert.deepStrictEqual(
      { code: error.code, message: error.message },
      { code: -32602, message: StateSeal.invalidState().message }
    )
  })

describe("Sealed journals", () => {
  it.effect("A sealed journal opens unchanged", () =>
    Effect.gen(function* () {
      const seal = yield* StateSeal.StateSeal
      const opened = yield* seal.open(yield* seal.seal(journal, binding), binding)
      assert.deepStrictEqual(opened.journal, journal)
    }).pipe(Effect.provide(StateSeal.layerRandom()))
  )

  it.effect("A sealed journal hides its answers and differs each time", () =>
    Effect.gen(function* () {
      const seal = yield* StateSeal.StateSeal
      const [one, two] = [yield* seal.seal(journal, binding), yield* seal.seal(journal, binding)]
      assert.notStrictEqual(one, two)
      assert.notInclude(atob(one.split(".")[3]!.replaceAll("-", "+").replaceAll("_", "/")), "Ada")
    }).pipe(Effect.provide(StateSeal.layerRandom()))
  )

  it.effect("A sealed journal is rejected if any character changes", () =>
    Effect.gen(function* () {
      const seal = yield* StateSeal.StateSeal
      const state = yield* seal.seal(journal, binding)
      const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_."
      for (let i = 0; i < state.length; i++) {
        const other = letters[(letters.indexOf(state[i]!) + 1) % letters.length]!
        yield* refuses(state.slice(0, i) + other + state.slice(i + 1))
      }
    }).pipe(Effect.provide(StateSeal.layerRandom()))
  )

  it.effect.prop(
    "A truncated, extended or forged journal is rejected",
    { cut: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 400 })), junk: Schema.String },
    ({ cut, junk }) =>
      Effect.gen(function* () {
        const seal = yield* StateSeal.StateSeal
        const state = yield* seal.seal(journal, binding)
        if (cut < state.length) yield* refuses(state.slice(0, cut))
        if (junk.length > 0) yield* refuses(state + junk)
        yield* refuses(junk)
      }).pipe(Effect.provide(StateSeal.layerRandom())),
    { arbitrary: { runs: 60, seed: 7 } }
  )

  it.effect("A sealed journal is rejected for another principal, revision, method, tool or arguments", () =>
    Effect.gen(function* () {
      const seal = yield* StateSeal.StateSeal
      const state = yield* seal.seal(journal, binding)
      for (const other of [
        ["bob", "2026-07-28", "tools/call", "book", { guests: 2 }],
        ["alice", "2027-01-01", "tools/call", "book", { guests: 2 }],
        ["alice", "2026-07-28", "prompts/get", "book", { guests: 2 }],
        ["alice", "2026-07-28", "tools/call", "cancel", { guests: 2 }],
        ["alice", "2026-07-28", "tools/call", "book", { guests: 3 }]
      ]) {
        yield* refuses(state, JSON.stringify(other))
      }
    }).pipe(Effect.provide(StateSeal.layerRandom()))
  )

  it.effect("An expired journal is rejected", () =>
    Effect.gen(function* () {
      const seal = yield* StateSeal.StateSeal
      const state = yield* seal.seal(journal, binding)
      yield* TestClock.adjust("9 minutes")
      yield* seal.open(state, binding)
      yield* TestClock.adjust("1 minute")
      yield* refuses(state)
    }).pipe(Effect.provide(StateSeal.layerRandom({ timeToLive: "10 minutes" })))
  )

  it.effect("A server with a different key rejects a sealed journal", () =>
    Effect.gen(function* () {
      const build = Layer.build(StateSeal.layerRandom())
      const [one, two] = [yield* build, yield* Layer.build(Layer.fresh(StateSeal.layerRandom()))]
      const state = yield* Effect.provideContext(
        Effect.flatMap(StateSeal.StateSeal, (seal) => seal.seal(journal, binding)),
        one
      )
      yield* Effect.provideContext(refuses(state), two)
    })
  )

  it.effect(
    "Every node with the key opens a sealed journal, even after key rotation, in 2026-07-28",
    () =>
      Effect.gen(function* () {
        const at = (...keys: [StateSeal.SealingKey, ...Array<StateSeal.SealingKey>]) =>
          Effect.provide(
            Effect.map(StateSeal.StateSeal, (seal) => seal),
            StateSeal.layer(keys),
            { local: true }
          )
        const old = yield* at(key("2025", 1))
        const rotated = yield* at(key("2026", 2), key("2025", 1))
        const after = yield* at(key("2026", 2))
        const state = yield* old.seal(journal, binding)
        assert.deepStrictEqual((yield* rotated.open(state, binding)).journal, journal)
        assert.isTrue(Exit.isFailure(yield* Effect.exit(after.open(state, binding))))
        const newer = yield* rotated.seal(journal, binding)
        assert.deepStrictEqual((yield* after.open(newer, binding)).journal, journal)
      }),
    verifies("stateless.state.explicit")
  )
})

describe("Replay guard", () => {
  it.effect("The replay guard runs a state once and repeats the reply for the same retry", () =>
    Effect.gen(function* () {
      const guard = yield* ReplayGuard.ReplayGuard
      let runs = 0
      const reply = Effect.sync(() => ++runs)
      assert.strictEqual(yield* guard.once("a", 1000, reply), 1)
      assert.strictEqual(yield* guard.once("a", 1000, reply), 1)
      assert.strictEqual(yield* guard.once("b", 1000, reply), 2)
    }).pipe(Effect.provide(ReplayGuard.layerMemory()))
  )

  it.effect("The replay guard allows another use if the first was interrupted", () =>
    Effect.gen(function* () {
      const guard = yield* ReplayGuard.ReplayGuard
      yield* Effect.exit(guard.once("a", 1000, Effect.interrupt))
      assert.strictEqual(yield* guard.once("a", 1000, Effect.succeed("second")), "second")
    }).pipe(Effect.provide(ReplayGuard.layerMemory()))
  )

  it.effect("The replay guard rejects states when full and forgets expired ones", () =>
    Effect.gen(function* () {
      const guard = yield* ReplayGuard.ReplayGuard
      yield* guard.once("a", 1000, Effect.void)
      assert.strictEqual((yield* Effect.flip(guard.once("b", 2000, Effect.void))).code, -31429)
      yield* TestClock.adjust("1 second")
      yield* guard.once("b", 2000, Effect.void)
    }).pipe(Effect.provide(ReplayGuard.layerMemory({ capacity: 1 })))
  )

  it.effect("The replay guard rejects only a caller over its share, with a retry time", () =>
    Effect.gen(function* () {
      const guard = yield* ReplayGuard.ReplayGuard
      for (const jti of ["a", "b"]) yield* guard.once(jti, 5000, Effect.void, "one")
      yield* Effect.exit(guard.once("cut off", 9000, Effect.interrupt, "one"))
      yield* TestClock.adjust("1 second")
      const refused = yield* Effect.flip(guard.once("c", 9000, Effect.void, "one"))
      assert.deepStrictEqual([refused.code, refused.data], [-31429, { retryAfterMs: 4000 }])
      yield* guard.once(
        "a",
        5000,
        Effect.sync((): void => assert.fail("A second use ran")),
        "one"
      )
      for (const caller of ["other", "third"]) yield* guard.once(`${caller}'s`, 9000, Effect.void, caller)
      yield* TestClock.adjust("4 seconds")
      for (const jti of ["c", "d"]) yield* guard.once(jti, 9000, Effect.void, "one")
      assert.strictEqual((yield* Effect.flip(guard.once("e", 9000, Effect.void, "one"))).code, -31429)
    }).pipe(Effect.provide(ReplayGuard.layerMemory({ capacity: 20 })))
  )
})
