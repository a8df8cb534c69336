/** Forms that a server asks a client to show its user. */
import * as Elicitation from "@effect-mcp/core/Elicitation"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { refused } from "../support/asking.ts"
import { since, until } from "../support/connected.ts"
import { asked, both, codeOf, declared, form, page } from "../support/questions.ts"

const forms = Elicitation.layer({ form: () => Effect.succeed({ action: "accept", content: { name: "Ada" } }) })

describe.each(until("2025-03-26"))("Elicitation in %s, which does not support it", (version) => {
  it.effect("Elicitation is neither declared nor answered", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* declared(version), {})
      assert.strictEqual(yield* codeOf(version, "elicitation/create", form()), refused(version, -32601))
    }).pipe(Effect.provide(both))
  )
})

describe.each(since("2025-06-18"))("Elicitation over %s", (version) => {
  const accepting = (content: object) =>
    Elicitation.layer({ form: () => Effect.succeed({ action: "accept", content: content as never }) })
  const schema = {
    type: "object",
    properties: {
      name: { type: "string", minLength: 2 },
      age: { type: "integer", minimum: 18 },
      color: { type: "string", enum: ["red", "green"] },
      news: { type: "boolean", default: true }
    },
    required: ["name"]
  }

  it.effect(
    "A form is shown and its answer is sent",
    () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(
          yield* declared(version),
          version === "2025-06-18" ? { elicitation: {} } : { elicitation: { form: {} } }
        )
        assert.deepStrictEqual(yield* asked(version, "elicitation/create", form()), {
          action: "accept",
          content: { name: "Ada" }
        })
      }).pipe(Effect.provide(forms)),
    verifies("elicitation.capability.declared")
  )

  it.effect(
    "No content is sent unless the user accepts",
    () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* asked(version, "elicitation/create", form()), { action: "decline" })
      }).pipe(Effect.provide(both)),
    verifies("elicitation.client.decline", "elicitation.client.approval")
  )

  it.effect.each([
    { name: "A" },
    { age: 20 },
    { name: "Ada", age: 17 },
    { name: "Ada", age: 20.5 },
    { name: "Ada", color: "blue" },
    { name: "Ada", news: "yes" }
  ])(
    "An answer that does not match the form is never sent: %o",
    (content) =>
      Effect.gen(function* () {
        const code = yield* codeOf(version, "elicitation/create", form(schema)).pipe(Effect.provide(accepting(content)))
        assert.strictEqual(code, -32603)
      }),
    verifies("elicitation.form.client-validates")
  )

  it.effect("Defaults fill in omitted fields only", () =>
    Effect.gen(function* () {
      const filled = (content: object) =>
        asked(version, "elicitation/create", form(schema)).pipe(Effect.provide(accepting(content)))
      assert.deepStrictEqual(yield* filled({ name: "Ada" }), {
        action: "accept",
        content: { name: "Ada", news: true }
      })
      assert.deepStrictEqual(yield* filled({ name: "Ada", news: false }), {
        action: "accept",
        content: { name: "Ada", news: false }
      })
    })
  )

  it.effect("A schema that no form can show is rejected", () =>
    Effect.gen(function* () {
      const nested = { type: "object", properties: { address: { type: "object" } } }
      assert.strictEqual(yield* codeOf(version, "elicitation/create", form(nested)), refused(version, -32602))
    }).pipe(Effect.provide(forms))
  )

  it.effect(
    "An undeclared mode is rejected",
    () =>
      Effect.gen(function* () {
        assert.strictEqual(yield* codeOf(version, "elicitation/create", page), refused(version, -32602))
      }).pipe(Effect.provide(forms)),
    verifies("elicitation.error.undeclared-mode")
  )
})
