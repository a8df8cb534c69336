/** Kinds of questions that 2025-11-25 introduced: elicitation by URL, and tools and context in sampling. */
import * as Elicitation from "@effect-mcp/core/Elicitation"
import * as Sampling from "@effect-mcp/core/Sampling"
import type { ElicitParams } from "@effect-mcp/protocol/model/Elicitation"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { refused } from "../support/asking.ts"
import { since } from "../support/connected.ts"
import { answer, asked, both, codeOf, declared, form, model, page, sampling } from "../support/questions.ts"

const pages = Elicitation.layer({ url: () => Effect.succeed({ action: "accept", content: { not: "sent" } }) })

describe.each(since("2025-11-25"))("Question kinds in %s", (version) => {
  it.effect(
    "A client declares every mode it supports",
    () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* declared(version).pipe(Effect.provide(pages)), { elicitation: { url: {} } })
        assert.deepStrictEqual(yield* declared(version).pipe(Effect.provide(both)), {
          elicitation: { form: {}, url: {} }
        })
        assert.deepStrictEqual(yield* declared(version).pipe(Effect.provide(Elicitation.layer({}))), {})
      }),
    verifies("elicitation.capability.one-mode")
  )

  it.effect(
    "A question without a mode defaults to a form",
    () =>
      Effect.gen(function* () {
        assert.strictEqual(yield* codeOf(version, "elicitation/create", form()), refused(version, -32602))
        assert.strictEqual(
          yield* codeOf(version, "elicitation/create", { ...form(), mode: "form" }),
          refused(version, -32602)
        )
      }).pipe(Effect.provide(pages)),
    verifies("elicitation.mode.absent-is-form", "elicitation.error.undeclared-mode")
  )

  it.effect(
    "The user sees the full URL, and only the consent is sent",
    () =>
      Effect.gen(function* () {
        const shown: Array<ElicitParams> = []
        const user = Elicitation.layer({
          url: (params) => Effect.sync(() => (shown.push(params), { action: "decline" as const }))
        })
        const odd = { ...page, url: "https://pay.example.com:8443/a?b=c#d", elicitationId: " 🙂/../" }
        assert.deepStrictEqual(yield* asked(version, "elicitation/create", odd).pipe(Effect.provide(user)), {
          action: "decline"
        })
        assert.deepStrictEqual(shown, [odd])
        assert.deepStrictEqual(yield* asked(version, "elicitation/create", page).pipe(Effect.provide(pages)), {
          action: "accept"
        })
      }),
    verifies(
      "elicitation.url.shown-in-full",
      "elicitation.url.id-opaque",
      "elicitation.url.consent",
      "elicitation.url.not-prefetched"
    )
  )

  it.effect.each(["javascript:alert(1)", "file:///etc/passwd", "data:text/html,hi", "not a url", "//example.com"])(
    "A user is never sent to %s",
    (url) =>
      Effect.gen(function* () {
        assert.strictEqual(yield* codeOf(version, "elicitation/create", { ...page, url }), refused(version, -32602))
      }).pipe(Effect.provide(pages)),
    verifies("elicitation.url.handled-carefully")
  )

  it.effect("A URL question has an id only if the revision announces completions", () =>
    Effect.gen(function* () {
      const { elicitationId: _, ...rest } = page
      if (version === "2025-11-25") assert.strictEqual(yield* codeOf(version, "elicitation/create", rest), -32602)
      else assert.deepStrictEqual(yield* asked(version, "elicitation/create", rest), { action: "accept" })
    }).pipe(Effect.provide(pages))
  )

  const tool = { name: "t", inputSchema: { type: "object" } }
  it.effect(
    "Sampling tools reach only a model that can use them",
    () =>
      Effect.gen(function* () {
        const able = model({ tools: true })
        assert.deepStrictEqual(yield* declared(version).pipe(Effect.provide(able)), { sampling: { tools: {} } })
        for (const more of [{ tools: [tool] }, { toolChoice: { mode: "auto" } }]) {
          const question = { ...sampling, ...more }
          assert.deepStrictEqual(
            yield* asked(version, "sampling/createMessage", question).pipe(Effect.provide(able)),
            answer
          )
          assert.strictEqual(
            yield* codeOf(version, "sampling/createMessage", question).pipe(Effect.provide(model())),
            refused(version, -32602)
          )
        }
      }),
    verifies("sampling.tools.capability-declared", "sampling.tools.undeclared-error")
  )

  it.effect("A context request is answered without context if the model declares none", () =>
    Effect.gen(function* () {
      const able = model({ context: true })
      const question = { ...sampling, includeContext: "thisServer" }
      assert.deepStrictEqual(yield* declared(version).pipe(Effect.provide(able)), { sampling: { context: {} } })
      assert.deepStrictEqual(
        yield* asked(version, "sampling/createMessage", question).pipe(Effect.provide(able)),
        answer
      )
      let seen: unknown
      const unable = Sampling.layer((params) => ((seen = params.includeContext), Effect.succeed(answer)))
      yield* asked(version, "sampling/createMessage", question).pipe(Effect.provide(unable))
      assert.strictEqual(seen, "none")
    })
  )

  const use = { role: "assistant", content: [{ type: "tool_use", id: "u", name: "t", input: {} }] }
  const result = { type: "tool_result", toolUseId: "u", content: [] }
  it.effect(
    "A tool use without exactly matching results is rejected",
    () =>
      Effect.gen(function* () {
        const code = (...messages: ReadonlyArray<object>) =>
          codeOf(version, "sampling/createMessage", { ...sampling, messages })
        assert.strictEqual(yield* code(use), refused(version, -32602))
        assert.strictEqual(yield* code(use, ...sampling.messages), refused(version, -32602))
        const mixed = { role: "user", content: [result, { type: "text", text: "and" }] }
        assert.strictEqual(yield* code(use, mixed), refused(version, -32602))
        const fine = { ...sampling, messages: [use, { role: "user", content: [result] }] }
        assert.deepStrictEqual(yield* asked(version, "sampling/createMessage", fine), answer)
      }).pipe(Effect.provide(model({ tools: true }))),
    verifies(
      "sampling.error.missing-tool-result",
      "sampling.error.mixed-tool-results",
      "sampling.security.content-validated"
    )
  )
})
