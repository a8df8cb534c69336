/** An upstream call and the requests attached to it: the rounds of its request, and their retries. */
import { ClientInput } from "@effect-mcp/core/ClientInput"
import { boundsOf } from "@effect-mcp/core/internal/inFlight"
import { Log } from "@effect-mcp/core/Log"
import { Progress } from "@effect-mcp/core/Progress"
import { RequestContext } from "@effect-mcp/core/RequestContext"
import * as McpError from "@effect-mcp/protocol/McpError"
import { assert, it } from "@effect/vitest"
import { quiesce } from "@effect-mcp/testing/Quiesce"
import { Context, Deferred, Effect, Fiber } from "effect"
import * as Replay from "@effect-mcp/server/internal/Replay"
import * as UpstreamCalls from "../../src/upstream/UpstreamCalls.ts"
import type { Upstream } from "../../src/upstream/Upstream.ts"

/** Every request is a round of the same one, so recorded values remain available. */
const rounds = () => {
  const recorded = new Map<string, unknown>()
  const once: ClientInput["Service"]["once"] = (name, _schema, effect) =>
    recorded.has(name)
      ? // Recorded under this name by an effect of this type.
        (Effect.succeed(recorded.get(name)) as typeof effect)
      : Effect.tap(effect, (value) => Effect.sync(() => void recorded.set(name, value)))
  return Context.make(ClientInput, { ask: () => Effect.never, askExtension: () => Effect.never, once }).pipe(
    Context.add(Progress, { wanted: false, report: () => Effect.void } as unknown as Progress["Service"]),
    Context.add(RequestContext, {} as unknown as RequestContext["Service"]),
    Context.add(Log, { log: () => Effect.void } as unknown as Log["Service"])
  )
}

/** Only the set of its calls is used here. */
const upstream = { calls: new Set() } as unknown as Upstream

const started = Effect.gen(function* () {
  const calls = yield* UpstreamCalls.make({ roundTimeout: "1 minute", capacity: boundsOf(8, 0.5) })
  const answer = yield* Deferred.make<string>()
  const running = yield* Deferred.make<void>()
  const send = () => Effect.andThen(Deferred.succeed(running, undefined), Deferred.await(answer))
  const request = rounds()
  const attach = (admitted: Effect.Effect<void, McpError.McpError> = Effect.void) =>
    Effect.provide(calls.run({ caller: "a", acquire: Effect.succeed(upstream), send, admit: () => admitted }), request)
  const first = yield* Effect.forkChild(attach(), { startImmediately: true })
  yield* Deferred.await(running)
  return { answer, calls, attach, first }
})

it.effect("A later round that contradicts its call is rejected without ending the call", () =>
  Effect.gen(function* () {
    const { answer, attach, first } = yield* started
    const refusal = McpError.headerMismatch("another region")
    assert.strictEqual(yield* Effect.flip(attach(Effect.fail(refusal))), refusal)
    yield* Deferred.succeed(answer, "answer")
    assert.strictEqual(yield* Fiber.join(first), "answer")
  })
)

it.effect("A shared call ends only with its last attached request", () =>
  Effect.gen(function* () {
    const { answer, calls, attach, first } = yield* started
    const second = yield* Effect.forkChild(attach(), { startImmediately: true })
    yield* Fiber.interrupt(first)
    assert.strictEqual(calls.size(), 1)
    yield* Deferred.succeed(answer, "answer")
    assert.strictEqual(yield* Fiber.join(second), "answer")
    assert.strictEqual(calls.size(), 0)

    const other = yield* started
    yield* Fiber.interrupt(other.first)
    assert.strictEqual(other.calls.size(), 0)
  })
)

/**
 * Starts calls of callers that wait for their next rounds, in this order, and returns the callers whose calls were cancelled.
 */
const cancelledOf = (waiting: ReadonlyArray<string | undefined>) =>
  Effect.gen(function* () {
    const calls = yield* UpstreamCalls.make({ roundTimeout: "1 minute", capacity: boundsOf(4, 0.5) })
    const cancelled: Array<string | undefined> = []
    for (const caller of waiting) {
      const running = yield* Deferred.make<void>()
      const send = () =>
        Effect.onInterrupt(Effect.andThen(Deferred.succeed(running, undefined), Effect.never), () =>
          Effect.sync(() => void cancelled.push(caller))
        )
      const start = { caller, acquire: Effect.succeed(upstream), send, admit: () => Effect.void }
      const round = yield* Effect.forkChild(Effect.provide(calls.run(start), rounds()), { startImmediately: true })
      yield* Deferred.await(running)
      round.interruptUnsafe(undefined, Replay.suspension)
      yield* Fiber.await(round)
      yield* quiesce
    }
    return cancelled
  })

it.effect("A caller over its share of waiting calls loses its longest-waiting one", () =>
  Effect.gen(function* () {
    assert.deepStrictEqual(yield* cancelledOf(["b", "a", "a", "a", "a"]), ["a", "a"])
  })
)

it.effect("A waiting call never cancels a call from a caller with as many calls or fewer", () =>
  Effect.gen(function* () {
    assert.deepStrictEqual(yield* cancelledOf(["a", "b", "c", "d", "e"]), ["e"])
    assert.deepStrictEqual(yield* cancelledOf(["a", "b", "b", "c", "d"]), ["b"])
  })
)
