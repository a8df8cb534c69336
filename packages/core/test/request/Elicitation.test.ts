/** Asking the user in straight-line code, and users for tests. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { CapabilityMissing } from "../../src/request/ClientInput.ts"
import * as Elicitation from "../../src/request/Elicitation.ts"

const Name = Schema.Struct({ name: Schema.String })
const page = { message: "pay", url: "https://example.com/pay", elicitationId: "e1" }

describe("Elicitation", () => {
  it.effect("A question returns the values filled in by the user", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* Elicitation.form("Who?", Name), { name: "Ada" })
      yield* Elicitation.confirm("Sure?")
      yield* Elicitation.url(page)
    }).pipe(Effect.provide(Elicitation.layerAccept({ name: "Ada" })))
  )

  for (const [action, user] of [
    ["decline", Elicitation.layerDecline],
    ["cancel", Elicitation.layerCancel]
  ] as const) {
    it.effect(`A question fails with Declined if the user's action is ${action}`, () =>
      Effect.gen(function* () {
        for (const question of [
          Effect.asVoid(Elicitation.form("Who?", Name)),
          Elicitation.confirm("Sure?"),
          Elicitation.url(page)
        ]) {
          assert.deepInclude(yield* Effect.flip(question), { _tag: "Declined", action })
        }
      }).pipe(Effect.provide(user))
    )
  }

  it.effect("A question fails with -32602 if the answer does not match the form", () =>
    Effect.gen(function* () {
      assert.deepInclude(yield* Effect.flip(Elicitation.form("Who?", Name)), { _tag: "McpError", code: -32602 })
    }).pipe(Effect.provide(Elicitation.layerAccept({ name: 7 })))
  )

  it.effect("A question that no form can show is a defect", () =>
    Effect.gen(function* () {
      const nested = Schema.Struct({ inner: Name })
      // @ts-expect-error -- a form is flat
      const exit = yield* Effect.exit(Elicitation.form("?", nested))
      assert.strictEqual(exit._tag === "Failure" && exit.cause.reasons[0]?._tag, "Die")
    }).pipe(Effect.provide(Elicitation.layerAccept()))
  )

  it.effect("A question in a mode that the client does not support fails with -32602", () =>
    Effect.gen(function* () {
      yield* Elicitation.confirm("Sure?")
      assert.deepInclude(yield* Effect.flip(Elicitation.url(page)), { _tag: "McpError", code: -32602 })
    }).pipe(Effect.provide(Elicitation.layer({ form: () => Effect.succeed({ action: "accept" }) })))
  )
})

describe("ifSupported", () => {
  const missing = Effect.fail(new CapabilityMissing({ capability: "elicitation.form", message: "no" }))

  it.effect("ifSupported runs the alternative if the client cannot be asked", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* Elicitation.ifSupported(missing, Effect.succeed("default")), "default")
    })
  )

  it.effect("ifSupported does not run the alternative if the user declines", () =>
    Effect.gen(function* () {
      const asked = Elicitation.ifSupported(Elicitation.confirm("Sure?"), Effect.succeed("default"))
      assert.strictEqual((yield* Effect.flip(asked))._tag, "Declined")
    }).pipe(Effect.provide(Elicitation.layerDecline))
  )
})
