/** Limits on how often a server may ask. */
import * as Elicitation from "@effect-mcp/core/Elicitation"
import * as QuestionLimits from "@effect-mcp/client/QuestionLimits"
import * as McpError from "@effect-mcp/protocol/McpError"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { asker } from "../support/asking.ts"
import { all, since } from "../support/connected.ts"
import { form, model, sampling } from "../support/questions.ts"

const user = Elicitation.layer({ form: () => Effect.succeed({ action: "accept", content: {} }) })

const refusedOf = <A, R>(asked: Effect.Effect<A, { readonly _tag: string }, R>) =>
  Effect.map(Effect.flip(asked), (error) =>
    error instanceof McpError.McpError ? error : assert.fail(`not an McpError: ${error._tag}`)
  )

describe("QuestionLimits", () => {
  const kinds = [
    ["sampling", "sampling/createMessage", sampling, all],
    ["elicitation", "elicitation/create", form(), since("2025-06-18")]
  ] as const
  for (const [limit, method, params, revisions] of kinds) {
    it.effect.each(revisions)(
      `A server may ask for ${limit} up to its rate (%s)`,
      (version) =>
        Effect.gen(function* () {
          const { ask } = yield* asker(version)
          for (const _ of [1, 2, 3]) yield* ask(method, params)
          const error = yield* refusedOf(ask(method, params))
          assert.strictEqual(error.code, McpError.LimitExceeded)
          assert.deepInclude(error.data, { limit, allowed: 3, retryAfterMs: 20_000 })
          yield* TestClock.adjust("19 seconds")
          assert.deepInclude((yield* refusedOf(ask(method, params))).data, { retryAfterMs: 1000 })
          yield* TestClock.adjust("1 second")
          yield* ask(method, params)
          yield* refusedOf(ask(method, params))
          yield* TestClock.adjust("1 hour")
          for (const _ of [1, 2, 3]) yield* ask(method, params)
          yield* refusedOf(ask(method, params))
        }).pipe(
          Effect.provide(
            Layer.mergeAll(model(), user, QuestionLimits.layer({ [limit]: { requests: 3, per: "1 minute" } }))
          )
        ),
      verifies(limit === "sampling" ? "sampling.security.rate-limited" : "elicitation.client.rate-limited")
    )

    it.effect(`A server that asks in a loop is stopped by default, unless the limit of ${limit} is off`, () =>
      Effect.gen(function* () {
        const asks = (options: QuestionLimits.Options, count: number) => {
          const { elicitation, sampling } = QuestionLimits.make(options)
          const one = limit === "sampling" ? sampling([]) : elicitation
          return Effect.forEach(Array.from({ length: count }), () => one, { discard: true })
        }
        yield* asks({}, 1000)
        assert.strictEqual((yield* refusedOf(asks({}, 1001))).code, McpError.LimitExceeded)
        yield* asks({ [limit]: false }, 1001)
        // Nothing may be asked at all.
        yield* refusedOf(asks({ [limit]: { requests: 0, per: "1 minute" } }, 1))
      })
    )
  }

  const rounds = (count: number) => ({
    maxTokens: 1,
    messages: [
      { role: "user", content: { type: "text", text: "Hello" } },
      ...Array.from({ length: count }, (_, at) => [
        { role: "assistant", content: [{ type: "tool_use", id: `${at}`, name: "x", input: {} }] },
        { role: "user", content: [{ type: "tool_result", toolUseId: `${at}`, content: [] }] }
      ]).flat()
    ]
  })

  it.effect("A burst of the allowed size passes at any time of a fine clock", () =>
    Effect.gen(function* () {
      for (let at = 0; at < 200; at++) {
        yield* TestClock.adjust(Duration.nanos(1_234_567_891n))
        const { sampling } = QuestionLimits.make({ sampling: { requests: 1 + (at % 7), per: "1 hour" } })
        for (let asked = 0; asked <= at % 7; asked++) yield* sampling([])
        yield* refusedOf(sampling([]))
      }
    })
  )

  it.effect.each(since("2025-11-25"))(
    "A conversation with the model may use tools only a limited number of times (%s)",
    (version) =>
      Effect.gen(function* () {
        const { ask } = yield* asker(version)
        yield* ask("sampling/createMessage", rounds(2))
        const error = yield* refusedOf(ask("sampling/createMessage", rounds(3)))
        assert.strictEqual(error.code, McpError.LimitExceeded)
        assert.deepStrictEqual(error.data, { limit: "toolIterations", given: 3, allowed: 2 })
      }).pipe(Effect.provide(Layer.merge(model({ tools: true }), QuestionLimits.layer({ toolIterations: 2 })))),
    verifies("sampling.tools.iteration-limit")
  )
})
