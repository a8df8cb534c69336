/** The guests of a session: messages of its client for guests that are not known, and nodes that do not answer. */
import { RelayError } from "@effect-mcp/server/Nodes"
import { anonymous } from "@effect-mcp/core/Principal"
import { HttpSession } from "@effect-mcp/server/internal/HttpSession"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Context, Deferred, Duration, Effect, type Fiber } from "effect"
import { TestClock } from "effect/testing"
import type { ToGuest } from "../../../src/http/session/GuestLink.ts"
import { HeldGuests } from "../../../src/http/session/HeldGuests.ts"
import { firstIdOf } from "../../../src/http/session/questionIds.ts"

const answerTo = (guest: number, result = {}) =>
  ({ _tag: "Message", message: { jsonrpc: "2.0", id: firstIdOf(guest), result }, envelope: {} }) as const

/** The guests of a session that `epoch` nodes have held, with what its node said; `say` is how another node answers. */
const held = Effect.fnUntraced(function* (epoch: number, say: () => Effect.Effect<object, RelayError>) {
  const clock = yield* Clock.Clock
  const said: Array<ToGuest> = []
  const link = {
    get now() {
      return Number(clock.monotonicTimeNanosUnsafe()) / 1e6
    },
    say: (_node: string, _session: string, message: ToGuest) =>
      Effect.suspend(() => {
        said.push(message)
        return say()
      })
  }
  const fork = Effect.runForkWith(yield* Effect.context<never>())
  const running = new Set<Fiber.Fiber<void>>()
  const guests = new HeldGuests(
    {
      session: { id: "session", epoch, isRunning: () => false },
      link,
      fork: (effect) => {
        const fiber = fork(effect)
        running.add(fiber)
        fiber.addObserver(() => running.delete(fiber))
      }
    },
    undefined
  )
  return { guests, said, running }
})

const taken = () => Effect.succeed({})

describe("An answer for a guest that is not known", () => {
  it.effect(
    "An answer for a guest that is not known is kept for five seconds after another node held the session",
    () =>
      Effect.gen(function* () {
        const { guests, said } = yield* held(2, taken)
        yield* TestClock.adjust("4 seconds")
        guests.takes(answerTo(1))
        guests.takes(answerTo(2))
        guests.admit(1, "node", 1000)
        assert.deepStrictEqual(
          said.map(({ guest }) => guest),
          [1]
        )
        yield* TestClock.adjust("1 second")
        guests.admit(2, "node", 1000)
        guests.takes(answerTo(3))
        guests.admit(3, "node", 1000)
        assert.strictEqual(said.length, 1)
      })
  )

  it.effect("An answer for a guest that is not known is kept up to 4 MiB of such answers", () =>
    Effect.gen(function* () {
      const { guests, said } = yield* held(2, taken)
      for (const guest of [1, 2, 3]) guests.takes(answerTo(guest, { text: "a".repeat(2 * 1024 * 1024 - 100) }))
      for (const guest of [1, 2, 3]) guests.admit(guest, "node", 1000)
      assert.deepStrictEqual(
        said.map(({ guest }) => guest),
        [2, 3]
      )
    })
  )

  it.effect("An answer for a guest that is not known is not kept where the session was opened here", () =>
    Effect.gen(function* () {
      const { guests, said } = yield* held(1, taken)
      guests.takes(answerTo(1))
      guests.admit(1, "node", 1000)
      assert.deepStrictEqual(said, [])
    })
  )
})

describe("A node that does not answer", () => {
  it.effect("A node that does not answer is sent an answer for five seconds", () =>
    Effect.gen(function* () {
      const { guests, running } = yield* held(1, () => Effect.never)
      guests.admit(1, "node", 1000)
      guests.takes(answerTo(1))
      assert.strictEqual(running.size, 1)
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual(running.size, 0)
    })
  )
})

describe("A session that is closed since its node leaves", () => {
  const closed = Effect.fnUntraced(function* (say: () => Effect.Effect<object, RelayError>) {
    const config = {
      clock: yield* Clock.Clock,
      context: Context.empty(),
      runFork: Effect.runForkWith(yield* Effect.context<never>()),
      store: undefined,
      shared: undefined,
      sessionless: false,
      window: Duration.minutes(2),
      grace: Duration.seconds(10),
      retry: Duration.seconds(1),
      leftBehind: () => {},
      ended: () => {}
    }
    const { guests, said } = yield* held(1, say)
    guests.admit(1, "node", 1000)
    const session = new HttpSession("session", anonymous, undefined, config)
    session.guests = guests
    const closing = yield* Effect.forkChild(session.close("The server is shutting down"))
    yield* TestClock.adjust(0)
    assert.deepStrictEqual(said, [{ kind: "revoke", guest: 1 }])
    return closing
  })

  it.effect("A session that is closed since its node leaves is closed once its guests know", () =>
    Effect.gen(function* () {
      const told = yield* Deferred.make<object>()
      const closing = yield* closed(() => Deferred.await(told))
      assert.isUndefined(closing.pollUnsafe())
      yield* Deferred.succeed(told, {})
      yield* TestClock.adjust(0)
      assert.isDefined(closing.pollUnsafe())
    })
  )

  it.effect(
    "A session that is closed since its node leaves is closed at the end of the grant of a guest that does not answer",
    () =>
      Effect.gen(function* () {
        const closing = yield* closed(() => Effect.never)
        yield* TestClock.adjust(999)
        assert.isUndefined(closing.pollUnsafe())
        yield* TestClock.adjust(1)
        assert.isDefined(closing.pollUnsafe())
      })
  )

  it.effect(
    "A session that is closed since its node leaves does not wait for a guest whose node cannot be reached",
    () =>
      Effect.gen(function* () {
        const gone = new RelayError({ reason: "NotSent", message: "No node is there" })
        assert.isDefined((yield* closed(() => Effect.fail(gone))).pollUnsafe())
      })
  )
})
