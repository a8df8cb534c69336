/** The table of an endpoint's sessions: whose they are, how many there may be, and how they end. */
import { type SessionEntry, type Options, SessionTable } from "../../../src/http/session/SessionTable.ts"
import { assert, it } from "@effect/vitest"
import { Clock, Effect, Exit, Fiber, Latch, Scope } from "effect"
import { TestClock } from "effect/testing"

/** A table, and the fibers that it runs: those of the endpoint's scope. */
const tableOf = Effect.fnUntraced(function* (options: Options) {
  const scope = yield* Scope.make()
  const run = Effect.runForkWith(yield* Effect.context<never>())
  const fork = (effect: Effect.Effect<void>) => Fiber.runIn(run(effect), scope)
  const sessions = new SessionTable<SessionEntry>(options, yield* Clock.Clock, fork)
  return { sessions, endpoint: Scope.close(scope, Exit.void) }
})
const table = tableOf({ perCaller: 2, idle: "1 minute" })
const entry = (id: string, owner: string, more: Partial<SessionEntry> = {}): SessionEntry => ({
  id,
  owner,
  caller: owner,
  idleSince: undefined,
  close: () => Effect.void,
  ...more
})

it.effect("A principal has as many sessions as it may, and those of others do not count for it", () =>
  Effect.gen(function* () {
    const { endpoint, sessions } = yield* table
    const first = entry("1", "ann")
    sessions.add(first)
    sessions.add(entry("2", "bob"))
    const reached = (caller: string) => sessions.reached({ owner: caller, caller })?.limit
    assert.isUndefined(reached("ann"))
    sessions.add(entry("3", "ann"))
    assert.deepStrictEqual([reached("ann"), reached("bob")], [2, undefined])
    sessions.end(first, "The client ended it")
    assert.isUndefined(reached("ann"))
    yield* endpoint
  })
)

it.effect("Anonymous callers of one address share the limit of an address, and those of another address do not", () =>
  Effect.gen(function* () {
    const { endpoint, sessions } = yield* tableOf({ perCaller: 2, perAddress: 3 })
    const reached = (caller: string) => sessions.reached({ owner: "", caller })
    const first = entry("1", "", { caller: "10.0.0.1" })
    for (const one of [first, entry("2", "", { caller: "10.0.0.1" })]) sessions.add(one)
    assert.isUndefined(reached("10.0.0.1"))
    sessions.add(entry("3", "", { caller: "10.0.0.1" }))
    assert.deepStrictEqual(reached("10.0.0.1"), { limit: 3, what: "sessions are open for this address" })
    assert.isUndefined(reached("10.0.0.2"))
    sessions.end(first, "The client ended it")
    assert.isUndefined(reached("10.0.0.1"))
    yield* endpoint
  })
)

it.effect("An address may have 5000 sessions, and a caller whose address is not known is not limited", () =>
  Effect.gen(function* () {
    const { endpoint, sessions } = yield* tableOf({})
    for (let at = 0; at < 5000; at++) {
      assert.isUndefined(sessions.reached({ owner: "", caller: "10.0.0.1" }))
      sessions.add(entry(`${at}`, "", { caller: "10.0.0.1" }))
      sessions.add(entry(`unknown ${at}`, ""))
    }
    assert.strictEqual(sessions.reached({ owner: "", caller: "10.0.0.1" })?.limit, 5000)
    assert.isUndefined(sessions.reached({ owner: "", caller: "" }))
    yield* endpoint
  })
)

it.effect("A session that is being ended is ended in full, though its endpoint ends meanwhile", () =>
  Effect.gen(function* () {
    const { endpoint, sessions } = yield* table
    const closing = yield* Latch.make()
    const finish = yield* Latch.make()
    const ends: Array<string> = []
    const close = (reason: string) =>
      Effect.andThen(
        Effect.andThen(closing.open, finish.await),
        Effect.sync(() => ends.push(reason))
      )
    sessions.add(entry("1", "", { close }))
    for (const one of sessions.all()) sessions.end(one, "The client ended it")
    yield* closing.await
    const ended = yield* Effect.forkChild(endpoint, { startImmediately: true })
    assert.deepStrictEqual(ends, [])
    yield* finish.open
    yield* Fiber.join(ended)
    assert.deepStrictEqual(ends, ["The client ended it"])
  })
)

it.effect("A session that is idle for too long is ended by itself, one in use is not", () =>
  Effect.gen(function* () {
    const { endpoint, sessions } = yield* table
    const reasons: Array<string> = []
    const close = (reason: string) => Effect.sync(() => reasons.push(reason))
    sessions.add(entry("1", "", { idleSince: 0, close }))
    sessions.add(entry("2", "", { close }))
    yield* TestClock.adjust("59 seconds")
    assert.deepStrictEqual([sessions.size, reasons], [2, []])
    yield* TestClock.adjust("10 seconds")
    assert.deepStrictEqual([sessions.size, reasons], [1, ["The session has expired"]])
    yield* endpoint
  })
)
