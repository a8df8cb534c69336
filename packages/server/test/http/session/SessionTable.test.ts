/** The session table of an endpoint: who owns the sessions, how many there may be, and how they end. */
import { type SessionEntry, type Options, SessionTable } from "../../../src/http/session/SessionTable.ts"
import { assert, it } from "@effect/vitest"
import { Clock, Effect, Exit, Fiber, Latch, Scope } from "effect"
import { TestClock } from "effect/testing"

/** A table and the fibers it runs, which belong to the endpoint's scope. */
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
  isRunning: false,
  close: () => Effect.void,
  ...more
})

it.effect("A principal's session limit ignores other principals' sessions", () =>
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

it.effect("Anonymous callers share their address's session limit", () =>
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

it.effect("An address may have 5000 sessions, and callers from unknown addresses are not limited", () =>
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

it.effect("A full table evicts the longest-idle session of the largest caller", () =>
  Effect.gen(function* () {
    const { endpoint, sessions } = yield* tableOf({ capacity: 7 })
    const ids = () => sessions.all().map(({ id }) => id)
    const of = (caller: string, id: string, more: Partial<SessionEntry> = {}) => entry(id, "", { caller, ...more })
    for (const [at, idleSince] of [undefined, 3, 1, 2].entries()) sessions.add(of("a", `a${at}`, { idleSince }))
    for (const id of ["b1", "b2", "b3"]) sessions.add(of("b", id, { idleSince: 0 }))
    assert.isFalse(sessions.isFullFor("c"))
    sessions.add(of("c", "c1"))
    assert.deepStrictEqual(ids(), ["a0", "a1", "a3", "b1", "b2", "b3", "c1"])
    sessions.add(of("c", "c2"))
    assert.deepStrictEqual(ids(), ["a0", "a1", "b1", "b2", "b3", "c1", "c2"])
    // With one more, "c" would have more than "b" keeps.
    assert.isTrue(sessions.isFullFor("c"))
    assert.isTrue(sessions.isFullFor("a"))
    assert.isTrue(sessions.isFullFor(""))
    yield* endpoint
  })
)

it.effect("A full table never evicts a session with running requests", () =>
  Effect.gen(function* () {
    const { endpoint, sessions } = yield* tableOf({ capacity: 3 })
    for (const id of ["1", "2"]) sessions.add(entry(id, "ann", { isRunning: true }))
    sessions.add(entry("3", "ann", { isRunning: true }))
    assert.isTrue(sessions.isFullFor("bob"))
    yield* endpoint
  })
)

it.effect("A session closes completely even if its endpoint shuts down meanwhile", () =>
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

it.effect("A session expires after being idle, but not while in use", () =>
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
