/** Questions of the server to its client: model, user, roots. */
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, type Vitest } from "@effect/vitest"
import { Effect } from "effect"

import { Official } from "../official.ts"
import { answering, call, listening, using } from "./calls.ts"

export const asking = (it: Vitest.MethodsNonLive<Official>): void => {
  it.effect("The SDK client provides its model to the server", () =>
    Effect.gen(function* () {
      yield* answering("sampling/createMessage", ({ messages, maxTokens }) => ({
        role: "assistant",
        model: "parrot",
        stopReason: "endTurn",
        content: { type: "text", text: `${messages[0].content.text} (${maxTokens})` }
      }))
      const { content } = yield* call("test_sampling", { prompt: "Say it" })
      assert.strictEqual(content[0].text, "LLM response: Say it (100)")
    })
  )

  it.effect("The SDK client shows the server's forms and returns the user's action", () =>
    Effect.gen(function* () {
      const replies = [
        { action: "accept", content: { username: "ada", email: "ada@example.com" } },
        { action: "decline" },
        { action: "cancel" }
      ]
      for (const reply of replies) {
        yield* answering("elicitation/create", ({ message }) => {
          assert.strictEqual(message, "Who are you?")
          return reply
        })
        const { content } = yield* call("test_elicitation", { message: "Who are you?" })
        assert.strictEqual(
          content[0].text,
          `User response: action=${reply.action}, content=${JSON.stringify(reply.content ?? {})}`
        )
      }
    })
  )

  it.effect(
    "The SDK client receives forms with defaults and every kind of choice",
    () =>
      Effect.gen(function* () {
        const asked = (name: string, content: object) =>
          Effect.gen(function* () {
            let properties: any
            yield* answering("elicitation/create", (params) => {
              properties = params.requestedSchema.properties
              return { action: "accept", content }
            })
            const { content: answer } = yield* call(name)
            const text = `Elicitation completed: action=accept, content=${JSON.stringify(content)}`
            assert.strictEqual(answer[0].text, text)
            return properties
          })
        const values = { name: "Jane", age: 25, score: 88, status: "inactive", verified: false }
        assert.deepStrictEqual(yield* asked("test_elicitation_sep1034_defaults", values), {
          name: { type: "string", default: "John Doe" },
          age: { type: "integer", default: 30 },
          score: { type: "number", default: 95.5 },
          status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
          verified: { type: "boolean", default: true }
        })
        const chosen = {
          untitledSingle: "option1",
          titledSingle: "value1",
          legacyEnum: "opt1",
          untitledMulti: ["option1", "option2"],
          titledMulti: ["value1", "value2"]
        }
        const choices = yield* asked("test_elicitation_sep1330_enums", chosen)
        assert.deepStrictEqual(choices.untitledSingle, { type: "string", enum: ["option1", "option2", "option3"] })
        assert.deepStrictEqual(choices.titledSingle.oneOf[0], { const: "value1", title: "First Option" })
        assert.deepStrictEqual(choices.legacyEnum.enumNames, ["Option One", "Option Two", "Option Three"])
        assert.deepStrictEqual(choices.untitledMulti.items, {
          type: "string",
          enum: ["option1", "option2", "option3"]
        })
        assert.deepStrictEqual(choices.titledMulti.items.anyOf[1], { const: "value2", title: "Second Choice" })
      }),
    verifies("elicitation.form.request")
  )

  it.effect(
    "The SDK client consents to a URL and is notified of its completion",
    () =>
      Effect.gen(function* () {
        let asked: any
        yield* answering("elicitation/create", (params) => {
          asked = params
          return { action: "accept" }
        })
        const until = yield* listening
        const { content } = yield* call("visit", { url: "https://example.com/form", id: "visit-1" })
        assert.strictEqual(content[0].text, "The user is on the way.")
        assert.deepInclude(asked, { mode: "url", url: "https://example.com/form", elicitationId: "visit-1" })
        const seen = yield* until(({ method }) => method === "notifications/elicitation/complete")
        assert.deepStrictEqual(seen.at(-1)?.params, { elicitationId: "visit-1" })
      }),
    verifies("elicitation.url.request", "elicitation.complete.id")
  )

  it.effect(
    "The SDK client sends the server its roots, and the new ones after a change notification",
    () =>
      Effect.gen(function* () {
        const { client } = yield* Official
        yield* answering("roots/list", () => ({ roots: [{ uri: "file:///old", name: "Old" }] }))
        assert.deepStrictEqual((yield* call("roots")).structuredContent, {
          roots: [{ uri: "file:///old", name: "Old" }]
        })
        const onprogress = () => {
          void Effect.runFork(
            Effect.andThen(
              Effect.provideService(
                answering("roots/list", () => ({ roots: [{ uri: "file:///new" }] })),
                Official,
                official
              ),
              Effect.promise(() => client.sendRootsListChanged())
            )
          )
        }
        const official = yield* Official
        const result = yield* using((client) => client.callTool("roots", { afterChange: true }, { onprogress }))
        assert.deepStrictEqual(result.structuredContent, { roots: [{ uri: "file:///new" }] })
      }),
    verifies("roots.list-changed.server-asks-again")
  )
}
