/** The table of an endpoint's sessions: whose they are, how many there may be, and how they end. */
import { type Entry, Sessions } from "@effect-mcp/server/internal/Sessions"
import { assert, it } from "@effect/vitest"
import { Clock, Effect, Exit, Fiber, Latch, Scope } from "effect"
import { TestClock } from "effect/testing"

/** A table, and the fibers that it runs: those of the endpoint's scope. */
const table = Effect.gen(function* () {
  const scope = yield* Scope.make()
  const run = Effect.runForkWith(yield* Effect.context<never>())
  const sessions = new Sessions<Entry>({ perCaller: 2, idle: "1 minute" }, yield* Clock.Clock, (effect) => {
    Fiber.runIn(run(effect), scope)
  })
  return { sessions, endpoint: Scope.close(scope, Exit.void) }
})
const entry = (id: string, owner: string, more: Partial<Entry> = {}): Entry => ({
  id,
  owner,
  idleSince: undefined,
  close: () => Effect.void,
  ...more
})

it.effect("A named caller has as many sessions as it may; others do not count for it", () =>
  Effect.gen(function* () {
    const { endpoint, sessions } = yield* table
    const first = entry("1", "ann")
    sessions.add(first)
    sessions.add(entry("2", "bob"))
    assert.isFalse(sessions.hasEnough("ann"))
    sessions.add(entry("3", "ann"))
    assert.isTrue(sessions.hasEnough("ann"))
    assert.isFalse(sessions.hasEnough("bob"))
    sessions.end(first, "The client ended it")
    assert.isFalse(sessions.hasEnough("ann"))
    yield* endpoint
  })
)

it.effect("Callers without a name share no limit, however many sessions they have", () =>
  Effect.gen(function* () {
    const { endpoint, sessions } = yield* table
    for (const id of ["1", "2", "3", "4"]) sessions.add(entry(id, ""))
    assert.isFalse(sessions.hasEnough(""))
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
