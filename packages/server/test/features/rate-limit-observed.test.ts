/**
 * The rate limit of an observed server uses the observer's arrival time, and makes the same decisions as without an observer.
 */
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as Middleware from "@effect-mcp/server/Middleware"
import * as Observer from "@effect-mcp/server/Observer"
import { assert, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Result, Schema } from "effect"
import { TestClock } from "effect/testing"
import { connect, everyVersion, quiesce, serve } from "../support/raw.ts"

const features = Layer.mergeAll(
  Tools.layer(Tool.make("now", { description: "" }), () => Effect.succeed("")),
  Tools.layer(Tool.make("later", { description: "", input: { ms: Schema.Finite } }), ({ ms }) =>
    Effect.as(Effect.sleep(ms), "")
  )
)
/** Delays calls of one tool before the limit counts them. */
const held = Middleware.inbound(({ message }, next) =>
  JsonRpc.isRequest(message) && message.params?.name === "later" ? Effect.delay(next, 1400) : next
)
const options = { limits: { inFlight: 2 }, rateLimit: { "tools/call": 1 } }
const observer = Observer.layer(Effect.succeed({ request: () => {} }))

/** A call of a tool, or passing time. */
const Step = Schema.Struct({
  tool: Schema.Literals(["now", "later", "none"]),
  ms: Schema.Literals([1, 100, 499, 500, 600, 3000])
})
const History = Schema.Struct({
  isHeld: Schema.Boolean,
  steps: Schema.Array(Step).check(Schema.isMinLength(6), Schema.isMaxLength(16))
})

/** Error codes of the answers (0 for a result) of a server with and without an observer. */
const answers = Effect.fnUntraced(function* (
  { isHeld, steps }: typeof History.Type,
  version: string,
  isObserved: boolean
) {
  const serving = serve({ ...options, features: isHeld ? Layer.merge(features, held) : features })
  const server = yield* isObserved ? Effect.provide(serving, observer) : serving
  const client = yield* connect(server, { version })
  const calls: Array<Fiber.Fiber<number>> = []
  for (const { ms, tool } of steps) {
    if (tool === "none") yield* TestClock.adjust(ms)
    else {
      const answered = Effect.map(
        Effect.result(client.request("tools/call", { name: tool, arguments: { ms } })),
        (result) => (Result.isSuccess(result) ? 0 : "code" in result.failure ? result.failure.code : 1)
      )
      calls.push(yield* Effect.forkChild(answered))
    }
    yield* quiesce
  }
  yield* TestClock.adjust("1 minute")
  return yield* Effect.forEach(calls, Fiber.join)
}, Effect.scoped)

for (const version of everyVersion()) {
  it.effect.prop(
    `An observed server limits requests exactly like an unobserved one (${version})`,
    [History],
    ([history]) =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* answers(history, version, true), yield* answers(history, version, false))
      }),
    { arbitrary: { runs: 80, size: 20, seed: 20261123 } }
  )
}
