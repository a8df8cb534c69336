/** Questions of several servers: each reaches the services of its server, which can read its name in the table. */
import * as Consent from "@effect-mcp/client/Consent"
import * as McpClients from "@effect-mcp/client/McpClients"
import * as Requester from "@effect-mcp/client/Requester"
import { Elicitation, Roots, Sampling, Tool, Tools } from "@effect-mcp/core"
import * as Revision from "@effect-mcp/protocol/Revision"
import * as McpTest from "@effect-mcp/testing/McpTest"
import { needs } from "@effect-mcp/spec/skip"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema, Stream } from "effect"
import { member, mortal } from "../support/mortal.ts"

const asking = Layer.mergeAll(
  Tools.layer(Tool.make("greet", { description: "Asks for a name" }), () =>
    Effect.map(Elicitation.form("Your name?", Schema.Struct({ name: Schema.String })), ({ name }) => name)
  ),
  Tools.layer(Tool.make("look", { description: "Asks for the roots" }), () =>
    Effect.map(Roots.list, (roots) => roots.map(({ uri }) => uri).join())
  ),
  Tools.layer(Tool.make("think", { description: "Asks the model" }), () =>
    Effect.map(Sampling.createMessage({ messages: [], maxTokens: 1 }), ({ model }) => model)
  )
)

const requester = Effect.map(Requester.Requester, (info) => info?.serverName ?? "unnamed")

/** A user, a model and roots that say which server asks. */
const user = (title: string) =>
  Layer.mergeAll(
    Elicitation.layer({
      form: () =>
        Effect.map(requester, (name) => ({ action: "accept" as const, content: { name: `${title} for ${name}` } }))
    }),
    Layer.succeed(Roots.Roots, {
      list: Effect.map(requester, (name) => [{ uri: `file:///${title}/${name}` }]),
      changes: undefined
    }),
    Sampling.layer(() =>
      Effect.map(requester, (name) => ({
        role: "assistant" as const,
        content: { type: "text" as const, text: "!" },
        model: `${title} for ${name}`
      }))
    )
  )

const textOf = ({ content }: { readonly content: ReadonlyArray<{ readonly type: string }> }) =>
  content.map((block) => ("text" in block ? block.text : block.type)).join()

describe.each(Revision.all)("Questions from multiple servers, $version", (revision) => {
  const clients = Effect.gen(function* () {
    const [a, b] = [yield* mortal(asking, "same name"), yield* mortal(asking, "same name")]
    return yield* McpClients.make({ a: member(a, revision, user("own")), b: member(b, revision) })
  }).pipe(Effect.provide(user("shared")))

  it.effect("A question is answered from its server's roots and model, or the program's", () =>
    Effect.gen(function* () {
      const { callToolByName } = yield* clients
      assert.strictEqual(textOf(yield* callToolByName("a_look")), "file:///own/a")
      assert.strictEqual(textOf(yield* callToolByName("b_look")), "file:///shared/b")
      assert.strictEqual(textOf(yield* callToolByName("a_think")), "own for a")
      assert.strictEqual(textOf(yield* callToolByName("b_think")), "shared for b")
    })
  )

  it.effect(
    "A question shows the user its server's configured name, even among others",
    () =>
      Effect.gen(function* () {
        const { callToolByName } = yield* clients
        const answers = yield* Effect.all([callToolByName("a_greet"), callToolByName("b_greet")], {
          concurrency: "unbounded"
        })
        assert.deepStrictEqual(answers.map(textOf), ["own for a", "shared for b"])
      }),
    needs(revision.rules.elicitation.form, "the revision has no elicitation")
  )

  it.effect("A consent check can decide by the server's name", () =>
    Effect.gen(function* () {
      const [a, b] = [yield* mortal(asking), yield* mortal(asking)]
      const seen: Array<string | undefined> = []
      const consent = Consent.layer({
        ask: ({ serverName }) => Effect.succeed(serverName === "a"),
        audit: ({ serverName }, { _tag }) => Effect.sync(() => void seen.push(`${serverName} ${_tag}`))
      })
      const { callToolByName } = yield* Effect.provide(
        McpClients.make({ a: member(a, revision), b: member(b, revision) }),
        Layer.merge(consent, user("any"))
      )
      assert.strictEqual(textOf(yield* callToolByName("a_look")), "file:///any/a")
      const error = yield* Effect.flip(callToolByName("b_look"))
      assert.strictEqual(error._tag, "ConsentDenied")
      assert.deepStrictEqual(seen, ["a Success", "a Success", "b Failure"])
    })
  )

  it.effect("A question passes through a mounting server to the original caller", () =>
    Effect.gen(function* () {
      const features = Layer.effectDiscard(Effect.flatMap(clients, ({ mount }) => mount))
      const caller = yield* Effect.provide(McpTest.connect(features, revision), user("caller"), { local: true })
      const tools = yield* Stream.runCollect(caller.listTools)
      assert.deepStrictEqual(
        tools.map(({ name }) => name),
        ["a_greet", "a_look", "a_think", "b_greet", "b_look", "b_think"]
      )
      assert.strictEqual(textOf(yield* caller.callToolByName("b_look")), "file:///caller/unnamed")
    })
  )
})
