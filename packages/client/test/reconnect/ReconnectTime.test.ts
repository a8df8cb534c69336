/** How long a client that lost its connection waits, and for what. */
import type { Transport } from "@effect-mcp/core/Transport"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { all, quiesce } from "../support/connected.ts"
import * as Modern from "../support/modern.ts"
import { contents, fork, hangingFirst, recovering, refused, tool } from "../support/recovering.ts"

/** A wire that loses requests of one method after the handshake. */
const deaf = (transport: Transport, method: string): Transport => {
  let heard = 0
  const send: Transport["sink"]["send"] = (message, lane) => {
    if ("method" in message && message.method === method && (method === "ping" || heard++ > 0)) return
    transport.sink.send(message, lane)
  }
  return { ...transport, sink: { ...transport.sink, send } }
}

describe.each(all)("Reconnect timing of %s clients", (version) => {
  it.effect("A client backs off up to a maximum, then fails the waiting requests", () =>
    Effect.gen(function* () {
      const times: Array<number> = []
      const { client, server, tries } = yield* recovering({
        version,
        script: (n) => (n === 0 || n === 9 ? {} : refused),
        hold: () => Effect.map(Clock.currentTimeMillis, (now) => void times.push(now))
      })
      server(0).cut()
      yield* quiesce
      const closed = yield* fork(Effect.flip(client.awaitClosed))
      const waiting = yield* Effect.forEach([1, 2, 3], () => fork(Effect.flip(client.ping)))
      yield* TestClock.adjust("30 seconds")
      for (const error of yield* Fiber.joinAll(waiting)) {
        assert.deepInclude(error, { _tag: "Closed", cause: refused, unsent: true })
        assert.include(error.message, "Nobody listens")
      }
      assert.strictEqual(yield* Fiber.join(closed), refused)
      const waits = times.slice(2).map((time, index) => time - (times[index + 1] ?? 0))
      assert.strictEqual(waits.length, 7)
      waits.forEach((wait, n) => {
        assert.isAtMost(wait, 200 * 2 ** n)
        assert.isAtLeast(wait, 100 * 2 ** n)
      })
      // The waits are jittered.
      assert.isTrue(waits.some((wait, n) => wait < 200 * 2 ** n))
      yield* client.ping
      assert.strictEqual(tries(), 10)
      const later = yield* fork(Effect.exit(client.awaitClosed))
      yield* quiesce
      assert.isUndefined(later.pollUnsafe())
    })
  )

  it.effect("A request waits for a connection at most for its timeout", () =>
    Effect.gen(function* () {
      const { client, server } = yield* recovering({
        version,
        script: hangingFirst({ "resources/read": () => contents }),
        hold: (n) => (n === 0 ? Effect.void : Effect.sleep("1 minute"))
      })
      const short = yield* fork(Effect.flip(client.readResource("a:b", { timeout: "50 seconds" })))
      const total = yield* fork(
        Effect.flip(client.readResource("a:c", { timeout: "5 minutes", maxTotal: "50 seconds" }))
      )
      const long = yield* fork(client.readResource("a:d", { timeout: "2 minutes" }))
      yield* TestClock.adjust("20 seconds")
      server(0).cut()
      yield* quiesce
      const late = yield* fork(Effect.flip(client.ping.pipe(Effect.timeout("10 minutes"))))
      yield* TestClock.adjust("29 seconds")
      assert.isUndefined(short.pollUnsafe())
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* Fiber.join(short))._tag, "Timeout")
      assert.strictEqual((yield* Fiber.join(total))._tag, "Timeout")
      yield* TestClock.adjust("40 seconds")
      yield* Fiber.join(long)
      yield* Fiber.interrupt(late)
    })
  )

  it.effect("Progress keeps a retried request alive", () =>
    Effect.gen(function* () {
      const { client, server } = yield* recovering({
        version,
        script: hangingFirst({ "resources/read": () => contents }),
        hold: (n) => (n === 0 ? Effect.void : Effect.sleep("40 seconds"))
      })
      const read = yield* fork(client.readResource("a:b", { timeout: "50 seconds", onProgress: () => {} }))
      yield* quiesce
      yield* TestClock.adjust("40 seconds")
      const [request] = server(0).requests("resources/read")
      const progressToken = Modern.declared(request, "progressToken")
      server(0).peer.notify("notifications/progress", { progressToken, progress: 1 })
      yield* quiesce
      server(0).cut()
      yield* quiesce
      yield* TestClock.adjust("40 seconds")
      yield* Fiber.join(read)
    })
  )

  it.effect("Every connection is pinged, and replaced if it stops answering", () =>
    Effect.gen(function* () {
      const ping = version === Modern.version ? "server/discover" : "ping"
      const { client, opened, server } = yield* recovering(
        {
          version,
          script: () => ({ answers: { "resources/read": () => contents } }),
          wire: (transport, n) => (n === 0 ? deaf(transport, ping) : transport)
        },
        { keepAlive: { every: "10 seconds", timeout: "5 seconds", failures: 2 } }
      )
      yield* TestClock.adjust("40 seconds")
      yield* quiesce
      assert.isTrue(server(0).released())
      assert.strictEqual(opened.length, 1)
      yield* client.readResource("a:b")
      for (let n = 0; n < 60; n++) {
        yield* TestClock.adjust("1 second")
        yield* quiesce
      }
      assert.isFalse(server(1).released())
      // The peer itself answers pings if the revision has a ping method.
      assert.isAtLeast(server(1).requests(ping).length, 5)
    })
  )

  it.effect("Timeouts use elapsed time, unaffected by the wall clock", () =>
    Effect.gen(function* () {
      const clock = yield* Clock.Clock
      let set = 0
      const wall = () => clock.currentTimeMillisUnsafe() + set
      const jumping = Object.assign({}, clock, { currentTimeMillisUnsafe: wall, currentTimeMillis: Effect.sync(wall) })
      const { client, server } = yield* Effect.provideService(
        recovering({
          version,
          script: hangingFirst({ "resources/read": () => contents, "tools/call": () => tool }),
          hold: (n) => (n === 0 ? Effect.void : Effect.never)
        }),
        Clock.Clock,
        jumping
      )
      for (const back of [3_600_000, -3_600_000]) {
        const call = yield* fork(Effect.flip(client.callToolByName("x", {}, { timeout: "50 seconds" })))
        set -= back
        yield* TestClock.adjust("49 seconds")
        assert.isUndefined(call.pollUnsafe())
        yield* TestClock.adjust("1 second")
        assert.strictEqual((yield* Fiber.join(call))._tag, "Timeout")
      }
      const read = yield* fork(Effect.flip(client.readResource("a:b", { timeout: "50 seconds" })))
      server(0).cut()
      yield* quiesce
      set -= 3_600_000
      yield* TestClock.adjust("50 seconds")
      assert.strictEqual((yield* Fiber.join(read))._tag, "Timeout")
    })
  )
})
