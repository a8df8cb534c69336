/** Consent, which is requested before anything leaves a client. */
import * as Consent from "@effect-mcp/client/Consent"
import * as Elicitation from "@effect-mcp/core/Elicitation"
import * as Sampling from "@effect-mcp/core/Sampling"
import * as McpError from "@effect-mcp/protocol/McpError"
import type { Version } from "@effect-mcp/protocol/Revision"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer, Stream } from "effect"
import { asker } from "../support/asking.ts"
import { all, connected, since } from "../support/connected.ts"
import { answer, asked, codeOf, form, model, sampling } from "../support/questions.ts"

describe("Consent", () => {
  const calls = (version: Version) =>
    connected({
      version,
      answers: {
        "tools/list": () => ({
          tools: [{ name: "x", inputSchema: { type: "object" }, annotations: { readOnlyHint: true } }]
        }),
        "tools/call": () => ({ content: [] })
      }
    })

  it.effect.each(all)(
    "A tool call over %s asks for consent first and reports the outcome",
    (version) =>
      Effect.gen(function* () {
        const asks: Array<Consent.Action> = []
        const audits: Array<string> = []
        const policy = Consent.layer({
          ask: (action) => Effect.sync(() => asks.push(action) === 1),
          audit: (_, outcome) => Effect.sync(() => void audits.push(outcome._tag))
        })
        const { client, server } = yield* calls(version).pipe(Effect.provide(policy))
        yield* client.callToolByName("x", { a: 1 })
        yield* Stream.runDrain(client.listTools)
        assert.strictEqual((yield* Effect.flip(client.callToolByName("x")))._tag, "ConsentDenied")
        assert.strictEqual(server.requests("tools/call").length, 1)
        assert.deepStrictEqual(audits, ["Success", "Failure"])
        const [first, second] = asks as ReadonlyArray<Extract<Consent.Action, { _tag: "CallTool" }>>
        assert.strictEqual(first?.tool, "x")
        assert.deepStrictEqual(first?.arguments, { a: 1 })
        assert.strictEqual(first?.server.name, "scripted")
        assert.isUndefined(first?.annotations)
        // Passed on as the server's own claim, which nothing here trusts.
        assert.deepStrictEqual(second?.annotations, { readOnlyHint: true })
      }),
    verifies("tools.security.audited", "tools.annotations.untrusted")
  )

  it.effect("Consent can be denied for every request", () =>
    Effect.gen(function* () {
      const { client } = yield* calls("2025-11-25").pipe(Effect.provide(Consent.layerDeny))
      assert.strictEqual((yield* Effect.flip(client.callToolByName("x")))._tag, "ConsentDenied")
    })
  )
})

describe("Consent that edits", () => {
  const said = (text: string) => ({
    ...sampling,
    messages: [{ role: "user" as const, content: { type: "text" as const, text } }]
  })

  it.effect.each(all)(
    "The user's model gets the edited prompt, and the server gets the edited answer (%s)",
    (version) =>
      Effect.gen(function* () {
        const given: Array<unknown> = []
        const audits: Array<unknown> = []
        const echo = Sampling.layer((params) => {
          given.push(params.messages)
          return Effect.succeed(answer)
        })
        const policy = Consent.layer({
          editPrompt: ({ params, server }) =>
            Effect.succeed({ ...params, messages: said(`for ${server.name}`).messages }),
          editAnswer: (_action, { content: _content, ...rest }) =>
            Effect.succeed({ ...rest, content: { type: "text", text: "edited" } }),
          audit: (_action, outcome) => Effect.sync(() => void audits.push(outcome))
        })
        const { ask } = yield* asker(version).pipe(Effect.provide(Layer.merge(echo, policy)))
        const edited = { ...answer, content: { type: "text", text: "edited" } }
        assert.deepStrictEqual(yield* ask("sampling/createMessage", sampling), edited)
        assert.deepStrictEqual(given, [said("for scripted").messages])
        assert.deepStrictEqual(audits[0], Exit.succeed(edited))
      }),
    verifies("sampling.ui.edit", "sampling.ui.response-review")
  )

  it.effect.each(all)("An invalid edited prompt or answer is not sent (%s)", (version) =>
    Effect.gen(function* () {
      const failed = (policy: Partial<Consent.Policy>) =>
        codeOf(version, "sampling/createMessage", sampling).pipe(
          Effect.provide(Layer.merge(model(), Consent.layer(policy)))
        )
      const orphan = { type: "tool_result", toolUseId: "1", content: [] } as const
      assert.strictEqual(
        yield* failed({
          editPrompt: ({ params }) => Effect.succeed({ ...params, messages: [{ role: "user", content: orphan }] })
        }),
        -32602
      )
      assert.strictEqual(
        yield* failed({
          editAnswer: (_action, answer) =>
            Effect.succeed({ ...answer, content: { type: "image", data: "A", mimeType: "image/png" } })
        }),
        -32603
      )
    })
  )

  it.effect.each(since("2025-06-18"))("The server gets the edited form, which must match its schema (%s)", (version) =>
    Effect.gen(function* () {
      const user = (action: "accept" | "decline") =>
        Elicitation.layer({ form: () => Effect.succeed({ action, content: { name: "Ada Lovelace" } }) })
      const edits = (content: { readonly [name: string]: string | number }, action: "accept" | "decline" = "accept") =>
        asked(version, "elicitation/create", form()).pipe(
          Effect.provide(
            Layer.merge(
              user(action),
              Consent.layer({
                editForm: (action) => {
                  assert.deepStrictEqual(action.content, { name: "Ada Lovelace" })
                  return Effect.succeed(content)
                }
              })
            )
          )
        )
      assert.deepStrictEqual(yield* edits({ name: "A." }), { action: "accept", content: { name: "A." } })
      assert.deepStrictEqual(yield* edits({ name: "A." }, "decline"), { action: "decline" })
      const error = yield* Effect.flip(edits({ name: 7 }))
      assert.strictEqual(error instanceof McpError.McpError ? error.code : error._tag, -32603)
    })
  )
})
