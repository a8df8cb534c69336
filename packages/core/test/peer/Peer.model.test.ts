/**
 * Random conversations against a model of which requests are answered and how often. No fiber or table entry remains.
 */
import * as McpError from "@effect-mcp/protocol/McpError"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Latch, Schema, Scope } from "effect"
import * as Arbitrary from "effect/Arbitrary"
import * as Memory from "../../src/transport/Memory.ts"
import * as Peer from "../../src/peer/Peer.ts"
import { commands, Model } from "../support/model.ts"
import { quiesce } from "../support/wire.ts"

describe("Random exchanges", () => {
  it.effect.prop(
    "Every request is answered exactly once, unless it is cancelled first",
    { script: commands, drain: Schema.Boolean },
    ({ drain, script }) =>
      Effect.gen(function* () {
        const model = new Model()
        const scope = yield* Scope.make()
        yield* Scope.provide(model.start, scope)
        for (const command of script) {
          yield* model.step(command)
          model.checkNow()
        }
        if (drain) yield* model.drain
        yield* model.finish(scope)
      }),
    {
      ...verifies("json-rpc.response.same-id", "cancellation.receiver.no-response", "cancellation.race.graceful"),
      timeout: 20_000,
      arbitrary: { runs: 800, size: 40 }
    }
  )
})

const Side = Schema.Literals([0, 1])
const Index = Schema.Literals([0, 1, 2, 3])
const Does = Schema.Literals(["now", "park", "fail", "die", "ask", "flood", "stuck"])
const Command = Schema.Union([
  Schema.TaggedStruct("Call", { side: Side, does: Does }),
  Schema.TaggedStruct("Call", { side: Side, does: Does }),
  Schema.TaggedStruct("Cancel", { index: Index }),
  Schema.TaggedStruct("Finish", { index: Index }),
  Schema.TaggedStruct("Interrupt", { side: Side }),
  Schema.TaggedStruct("Noise", { side: Side }),
  Schema.TaggedStruct("Tick", {})
])

interface Call {
  readonly does: typeof Does.Type
  readonly fiber: Fiber.Fiber<unknown, Peer.RequestError>
  given: boolean
}

/**
 * The possible outcomes of a call by the behaviour of its handler. Any call may also be interrupted or find the wire closed.
 */
const outcomes: { readonly [D in typeof Does.Type]: ReadonlyArray<unknown> } = {
  now: ["done"],
  park: ["done"],
  ask: ["done"],
  flood: ["done"],
  fail: [McpError.InvalidParams],
  die: [McpError.InternalError],
  stuck: []
}

/** Connects two real peers over a real, tiny wire. Every call must end as its handler does, or with a reason not to. */
const converse = Effect.fnUntraced(function* (script: ReadonlyArray<typeof Command.Type>, highWater: number) {
  const scope = yield* Scope.make()
  const calls: Array<Call> = []
  const gates: Array<Latch.Latch> = []
  let running = 0
  let interrupted = false
  const handle = ({ peer, request: { params } }: Peer.Exchange): Effect.Effect<unknown, McpError.McpError> => {
    const gate = Latch.makeUnsafe(false)
    gates.push(gate)
    running++
    const bodies: { readonly [D in typeof Does.Type]: Effect.Effect<unknown, McpError.McpError> } = {
      now: Effect.succeed("done"),
      park: Effect.as(gate.await, "done"),
      fail: Effect.fail(McpError.invalidParams("no")),
      die: Effect.die("dead"),
      ask: Effect.catch(peer.request("work", { does: "now" }), (error) =>
        error._tag === "McpError" ? Effect.fail(error) : Effect.fail(McpError.interrupted("closed"))
      ),
      flood: Effect.as(
        Effect.sync(() => {
          for (let n = 0; n < 20; n++) peer.notify("noise", { n })
        }),
        "done"
      ),
      stuck: Effect.ensuring(Effect.never, gate.await)
    }
    return Effect.onExit(bodies[params?.does as typeof Does.Type], () => Effect.sync(() => running--))
  }
  const [left, right] = yield* Scope.provide(Memory.pair({ highWater, capacity: 1 }), scope)
  const handlers: Peer.Handlers = { request: handle, notification: () => {} }
  const options: Peer.Options = { inFlight: 3, pending: 100 }
  const peers = [
    yield* Scope.provide(Peer.make(left, handlers, options), scope),
    yield* Scope.provide(Peer.make(right, handlers, options), scope)
  ] as const

  for (const command of script) {
    switch (command._tag) {
      case "Call": {
        const { does, side } = command
        const fiber = yield* Effect.forkDetach(peers[side].request("work", { does }), { startImmediately: true })
        calls.push({ does, fiber, given: false })
        break
      }
      case "Cancel": {
        const call = calls.filter(({ given }) => !given)[command.index]
        if (call !== undefined) {
          call.given = true
          call.fiber.interruptUnsafe()
        }
        break
      }
      case "Finish":
        gates[command.index]?.openUnsafe()
        break
      case "Interrupt":
        interrupted = true
        peers[command.side].interrupt("an operator")
        break
      case "Noise":
        peers[command.side].notify("noise")
        break
      case "Tick":
        yield* quiesce
    }
  }
  yield* quiesce
  const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void), { startImmediately: true })
  for (const gate of gates) gate.openUnsafe()
  yield* Fiber.join(closing)
  for (const { does, fiber, given } of calls) {
    const exit = yield* Fiber.await(fiber)
    if (Exit.isSuccess(exit)) assert.include(outcomes[does], exit.value)
    else if (Exit.hasInterrupts(exit)) assert.isTrue(given, "interrupted by someone else")
    else {
      const error = yield* Effect.flip(exit)
      const allowed: ReadonlyArray<unknown> = [...outcomes[does], McpError.Interrupted]
      if (error._tag === "McpError") assert.include(allowed, error.code)
      else assert.strictEqual(error._tag, "Closed")
      if (error._tag === "McpError" && error.code === McpError.Interrupted && !interrupted) {
        // Without an operator only the end of the wire interrupts, and it ends this side too.
        assert.include(["park", "stuck", "ask"], does)
      }
    }
  }
  assert.strictEqual(running, 0)
  for (const peer of peers) {
    assert.deepStrictEqual(yield* peer.inFlight, [])
    assert.strictEqual(peer.outstanding(), 0)
  }
})

describe("Random exchanges between two peers", () => {
  it.effect.prop(
    "Every call ends with its handler's result or an error that explains why",
    {
      script: Arbitrary.array(Arbitrary.schema(Command), { maxLength: 30 }),
      highWater: Schema.Literals([1, 200, 100_000])
    },
    ({ highWater, script }) => converse(script, highWater),
    { arbitrary: { runs: 250, size: 30 } }
  )
})
