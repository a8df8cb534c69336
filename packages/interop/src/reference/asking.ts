/**
 * Tools that ask the client: its model, its user, and its roots.
 *
 * The `test_*` tools belong to the conformance suite and return whatever the client answers, including a refusal. The others are for
 * everyday use.
 */
import { Elicitation, Progress, RequestContext, Roots, Sampling, Tool, Tools } from "@effect-mcp/core"
import type { ElicitParams, ElicitResult } from "@effect-mcp/protocol/model/Elicitation"
import { Effect, Fiber, Layer, Queue, Schema, Stream } from "effect"
import { State } from "./state.ts"

const sampling = Tools.layer(
  Tool.make("test_sampling", { description: "Asks the client's model.", input: { prompt: Schema.String } }),
  Effect.fnUntraced(function* ({ prompt }) {
    const { content } = yield* Sampling.createMessage({
      messages: [{ role: "user", content: { type: "text", text: prompt } }],
      maxTokens: 100
    })
    const texts = (Array.isArray(content) ? content : [content]).flatMap((block) =>
      block.type === "text" ? [block.text] : []
    )
    return `LLM response: ${texts.join("\n")}`
  })
)

const said = ({ action, content }: ElicitResult): string => `action=${action}, content=${JSON.stringify(content ?? {})}`

const elicitation = Tools.layer(
  Tool.make("test_elicitation", { description: "Asks for a name and an address.", input: { message: Schema.String } }),
  ({ message }) =>
    Effect.map(
      Elicitation.elicit({
        message,
        requestedSchema: {
          type: "object",
          properties: {
            username: { type: "string", description: "User's response" },
            email: { type: "string", description: "User's email address" }
          },
          required: ["username", "email"]
        }
      }),
      (result) => `User response: ${said(result)}`
    )
)

const asks = (name: string, description: string, params: ElicitParams) =>
  Tools.layer(Tool.make(name, { description }), () =>
    Effect.map(Elicitation.elicit(params), (result) => `Elicitation completed: ${said(result)}`)
  )

const defaults = asks("test_elicitation_sep1034_defaults", "Asks by a form in which everything has a default.", {
  message: "Check these values.",
  requestedSchema: {
    type: "object",
    properties: {
      name: { type: "string", default: "John Doe" },
      age: { type: "integer", default: 30 },
      score: { type: "number", default: 95.5 },
      status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
      verified: { type: "boolean", default: true }
    }
  }
})

const titled = (...titles: ReadonlyArray<string>) => titles.map((title, i) => ({ const: `value${i + 1}`, title }))
const options = ["option1", "option2", "option3"]

const enums = asks("test_elicitation_sep1330_enums", "Asks by a form with every kind of choice.", {
  message: "Choose.",
  requestedSchema: {
    type: "object",
    properties: {
      untitledSingle: { type: "string", enum: options },
      titledSingle: { type: "string", oneOf: titled("First Option", "Second Option", "Third Option") },
      legacyEnum: {
        type: "string",
        enum: ["opt1", "opt2", "opt3"],
        enumNames: ["Option One", "Option Two", "Option Three"]
      },
      untitledMulti: { type: "array", items: { type: "string", enum: options } },
      titledMulti: { type: "array", items: { anyOf: titled("First Choice", "Second Choice", "Third Choice") } }
    }
  }
})

/** Consenting does not complete the visit: it is queued, and `everything.ts` announces its completion. */
const visit = Tools.layer(
  Tool.make("visit", {
    description: "Asks the user to visit a page.",
    input: { url: Schema.String, id: Schema.String }
  }),
  Effect.fnUntraced(function* ({ url, id: elicitationId }) {
    yield* Elicitation.url({ message: "Please visit this page.", url, elicitationId })
    const { sessionId } = yield* RequestContext.RequestContext
    yield* Queue.offer((yield* State).visits, { sessionId, elicitationId })
    return "The user is on the way."
  })
)

const roots = Tools.layer(
  Tool.make("roots", {
    description: "Lists the client's roots; with afterChange, once they have changed.",
    input: { afterChange: Schema.optionalKey(Schema.Boolean) },
    output: { roots: Schema.Array(Schema.Struct({ uri: Schema.String, name: Schema.optionalKey(Schema.String) })) }
  }),
  Effect.fnUntraced(function* ({ afterChange }) {
    if (afterChange === true) {
      const { changes } = yield* Roots.Roots
      if (changes === undefined) return yield* new Tools.ToolFailure({ message: "The client announces no changes" })
      // Reports progress once no change can be missed, so that a client knows when to change its roots.
      const changed = yield* Effect.forkScoped(Stream.runHead(changes), { startImmediately: true })
      yield* Effect.yieldNow
      yield* Progress.report(1, { message: "Waiting for a change" })
      yield* Fiber.join(changed)
    }
    const list = yield* Roots.list
    return { roots: list.map(({ uri, name }) => (name === undefined ? { uri } : { uri, name })) }
  })
)

export const asking = Layer.mergeAll(sampling, elicitation, defaults, enums, visit, roots)
