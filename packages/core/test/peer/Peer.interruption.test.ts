/** Rule 5: interruption carries a reason. Only a cancellation by the sender gets no answer. */
import * as McpError from "@effect-mcp/protocol/McpError"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Latch, Scope } from "effect"
import { TestClock } from "effect/testing"
import { TransportError } from "../../src/transport/Transport.ts"
import { cancel, request, serve, quiesce, success } from "../support/wire.ts"

const codes = (messages: ReadonlyArray<any>) => messages.map(({ id, error }) => [id, error?.code])

describe("Interruptions not requested by the sender", () => {
  it.effect("An interruption by the peer's owner is answered with McpError.Interrupted and its reason", () =>
    Effect.gen(function* () {
      const { receive, peer, messages } = yield* serve(() => Effect.never)
      receive(request(1))
      receive(request(2))
      assert.isTrue(peer.interrupt("An operator said so", 1))
      yield* quiesce
      assert.deepStrictEqual(messages(), [
        { jsonrpc: "2.0", id: 1, error: { code: McpError.Interrupted, message: "An operator said so" } }
      ])
      assert.deepStrictEqual(
        (yield* peer.inFlight).map(({ id }) => id),
        [2]
      )
    })
  )

  it.effect("An interruption without an id reaches all running and waiting requests", () =>
    Effect.gen(function* () {
      const { receive, peer, messages } = yield* serve(() => Effect.never, { inFlight: 1 })
      for (const id of [1, 2, 3]) receive(request(id))
      peer.interrupt("Draining")
      yield* quiesce
      assert.sameDeepMembers(codes(messages()), [
        [1, McpError.Interrupted],
        [2, McpError.Interrupted],
        [3, McpError.Interrupted]
      ])
      assert.deepStrictEqual(yield* peer.inFlight, [])
    })
  )

  it.effect("Interrupting an unknown id does nothing", () =>
    Effect.gen(function* () {
      const { receive, peer, messages } = yield* serve(() => Effect.never)
      receive(request("1"))
      assert.isFalse(peer.interrupt("?", 1))
      yield* quiesce
      assert.deepStrictEqual(messages(), [])
    })
  )

  it.effect("A handler that interrupts itself is answered with McpError.Interrupted", () =>
    Effect.gen(function* () {
      const { receive, messages } = yield* serve(() => Effect.interrupt)
      receive(request(1))
      yield* quiesce
      assert.deepStrictEqual(codes(messages()), [[1, McpError.Interrupted]])
    })
  )

  it.effect("Interrupting an uninterruptible handler is answered once, when the handler ends", () =>
    Effect.gen(function* () {
      const latch = Latch.makeUnsafe(false)
      const { receive, peer, messages } = yield* serve(() => Effect.uninterruptible(Effect.as(latch.await, {})))
      receive(request(1))
      peer.interrupt("Too slow", 1)
      yield* quiesce
      assert.deepStrictEqual(messages(), [])
      latch.openUnsafe()
      yield* quiesce
      assert.deepStrictEqual(codes(messages()), [[1, McpError.Interrupted]])
    })
  )

  it.effect("An interruption gets no answer if the sender cancels before the handler ends", () =>
    Effect.gen(function* () {
      const latch = Latch.makeUnsafe(false)
      const { receive, peer, messages } = yield* serve(() => Effect.ensuring(Effect.never, latch.await))
      receive(request(1))
      peer.interrupt("Draining")
      receive(cancel(1))
      latch.openUnsafe()
      yield* quiesce
      assert.deepStrictEqual(messages(), [])
    })
  )

  it.effect("An interruption does not answer an already cancelled request", () =>
    Effect.gen(function* () {
      const latch = Latch.makeUnsafe(false)
      const { receive, peer, messages } = yield* serve(() => Effect.ensuring(Effect.never, latch.await))
      receive(request(1))
      receive(cancel(1))
      peer.interrupt("Draining")
      latch.openUnsafe()
      yield* quiesce
      assert.deepStrictEqual(messages(), [])
    })
  )

  it.effect("The answer to an interrupted request does not include its finalizers' defects", () =>
    Effect.gen(function* () {
      const { receive, peer, messages } = yield* serve(() => Effect.ensuring(Effect.never, Effect.die("secret")))
      receive(request(1))
      peer.interrupt("Draining")
      yield* quiesce
      assert.strictEqual(messages().length, 1)
      assert.notInclude(JSON.stringify(messages()), "secret")
    })
  )
})

describe("Closing the connection", () => {
  it.effect("Closing interrupts running requests, waits for their finalizers and answers them", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const latch = Latch.makeUnsafe(false)
      const { receive, messages } = yield* Scope.provide(
        serve(() => Effect.ensuring(Effect.never, latch.await)),
        scope
      )
      receive(request(1))
      const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void), { startImmediately: true })
      yield* quiesce
      assert.isUndefined(closing.pollUnsafe())
      latch.openUnsafe()
      yield* Fiber.join(closing)
      assert.deepStrictEqual(codes(messages()), [[1, McpError.Interrupted]])
    })
  )

  it.effect("If the remote side closes, running requests only get their grace period", () =>
    Effect.gen(function* () {
      const wire = yield* serve(({ request: { params } }) => Effect.as(Effect.sleep(Number(params?.millis)), {}), {
        grace: "5 seconds",
        inFlight: 2
      })
      wire.receive(request(1, "work", { millis: 1000 }))
      wire.receive(request(2, "work", { millis: 60_000 }))
      wire.receive(request(3, "work", { millis: 1000 }))
      wire.end()
      yield* quiesce
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(wire.messages(), [success(1), success(3)])
      yield* TestClock.adjust("3 seconds")
      assert.deepStrictEqual(codes(wire.messages()), [
        [1, undefined],
        [3, undefined],
        [2, McpError.Interrupted]
      ])
      yield* wire.peer.awaitClosed
    })
  )

  it.effect("A remote close without a grace period interrupts requests immediately", () =>
    Effect.gen(function* () {
      const wire = yield* serve(() => Effect.never)
      wire.receive(request(1))
      wire.end()
      yield* wire.peer.awaitClosed
      assert.deepStrictEqual(codes(wire.messages()), [[1, McpError.Interrupted]])
    })
  )

  it.effect("Closing does not wait for the grace period if no request is running", () =>
    Effect.gen(function* () {
      const wire = yield* serve(() => Effect.never, { grace: "1 hour" })
      wire.end()
      yield* wire.peer.awaitClosed
    })
  )

  it.effect("A broken connection ends the session without a grace period", () =>
    Effect.gen(function* () {
      const wire = yield* serve(() => Effect.never, { grace: "1 hour" })
      wire.receive(request(1))
      wire.fail(new TransportError({ reason: "Read", message: "gone" }))
      assert.strictEqual((yield* Effect.flip(wire.peer.awaitClosed)).message, "gone")
      yield* quiesce
      assert.deepStrictEqual(yield* wire.peer.inFlight, [])
    })
  )

  it.effect("A local close completes awaitClosed in other fibers", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const { peer } = yield* Scope.provide(
        serve(() => Effect.never),
        scope
      )
      const waiting = yield* Effect.forkChild(peer.awaitClosed, { startImmediately: true })
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(yield* Fiber.await(waiting), Exit.void)
    })
  )

  it.effect("An abort fails awaitClosed and all outstanding requests with its error", () =>
    Effect.gen(function* () {
      const { peer } = yield* serve(() => Effect.never)
      const asking = yield* Effect.forkChild(Effect.flip(peer.request("ask")), { startImmediately: true })
      peer.abort(new TransportError({ reason: "KeepAlive", message: "silent" }))
      assert.strictEqual((yield* Effect.flip(peer.awaitClosed)).message, "silent")
      assert.strictEqual((yield* Fiber.join(asking))._tag, "Closed")
    })
  )

  it.effect("Messages after closing are neither handled nor answered", () =>
    Effect.gen(function* () {
      const wire = yield* serve(() => Effect.succeed({}))
      wire.end()
      yield* wire.peer.awaitClosed
      wire.receive(request(1))
      wire.receive(request(2, "ping"))
      assert.deepStrictEqual(wire.messages(), [])
    })
  )
})
