/** Pings that detect a dead connection. */
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Logger } from "effect"
import { TestClock } from "effect/testing"
import { keepAlive } from "../../src/peer/KeepAlive.ts"
import { serve, quiesce, success } from "../support/wire.ts"

const options = { every: "10 seconds", timeout: "5 seconds", failures: 2 } as const

describe("Keep-alive", () => {
  it.effect(
    "Closes the connection after the given number of consecutive unanswered pings",
    () =>
      Effect.gen(function* () {
        const { peer } = yield* serve(() => Effect.never)
        yield* Effect.forkChild(keepAlive(peer, options), { startImmediately: true })
        const closed = yield* Effect.forkChild(Effect.flip(peer.awaitClosed), { startImmediately: true })
        yield* TestClock.adjust("29999 millis")
        assert.isUndefined(closed.pollUnsafe())
        yield* TestClock.adjust("1 millis")
        assert.strictEqual((yield* Effect.flip(peer.awaitClosed)).reason, "KeepAlive")
      }),
    verifies("ping.timeout.connection-failure", "ping.sender.timeout-appropriate", "ping.sender.configurable")
  )

  it.effect(
    "Pings at the given interval and resets the failure count on an answer",
    () =>
      Effect.gen(function* () {
        const { messages, peer, receive } = yield* serve(() => Effect.never)
        yield* Effect.forkChild(keepAlive(peer, options), { startImmediately: true })
        const pings = () => messages().filter(({ method }) => method === "ping")
        for (let round = 1; round <= 6; round++) {
          yield* TestClock.adjust("10 seconds")
          assert.strictEqual(pings().length, round)
          // Every other ping stays unanswered.
          if (round % 2 === 0) receive(success(pings().at(-1).id))
          else yield* TestClock.adjust("5 seconds")
        }
        const closed = yield* Effect.forkChild(Effect.ignore(peer.awaitClosed), { startImmediately: true })
        yield* quiesce
        assert.isUndefined(closed.pollUnsafe())
      }),
    verifies("ping.sender.periodic", "ping.sender.not-excessive")
  )

  it.effect(
    "Logs every failed ping",
    () => {
      const logged: Array<unknown> = []
      const logger = Logger.make(({ logLevel, message }) => logged.push([logLevel, message]))
      return Effect.gen(function* () {
        const { peer } = yield* serve(() => Effect.never)
        yield* Effect.forkChild(keepAlive(peer, options), { startImmediately: true })
        yield* TestClock.adjust("15 seconds")
        assert.deepStrictEqual(logged, [["Warn", ["Ping failed: ping timed out"]]])
      }).pipe(Effect.provide(Logger.layer([logger])))
    },
    verifies("ping.failure.logged")
  )
})
