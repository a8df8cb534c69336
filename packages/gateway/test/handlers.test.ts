/**
 * Handlers that ask in any order, several questions at once: through a gateway they get the same answers and run once.
 */
import { Elicitation, Memory, Once, type RequestContext, Roots, Sampling, Tool, Tools } from "@effect-mcp/core"
import * as Revision from "@effect-mcp/protocol/Revision"
import * as McpServer from "@effect-mcp/server/McpServer"
import { assert, describe, it } from "@effect/vitest"
import { quiesce } from "@effect-mcp/testing/Quiesce"
import { Arbitrary, Context, Effect, Layer, Schema } from "effect"
import { TestClock } from "effect/testing"
import * as Gateway from "../src/Gateway.ts"
import { join } from "./support/gateway.ts"

const Leaf = Schema.Literals(["form", "form", "sample", "roots", "once", "nothing"])
/** Groups that run one after the other; the members of a group run concurrently. */
const programs = Arbitrary.schema(
  Schema.Array(Schema.Array(Leaf).check(Schema.isMinLength(1), Schema.isMaxLength(4))).check(
    Schema.isMinLength(1),
    Schema.isMaxLength(4)
  )
)

const Name = Schema.Struct({ name: Schema.String })
const run = (
  leaf: typeof Leaf.Type,
  name: string,
  steps: Array<string>
): Effect.Effect<string | undefined, Roots.RootsError, RequestContext.RequestServices> => {
  switch (leaf) {
    case "form":
      return Effect.map(Elicitation.form(name, Name), (answer) => answer.name)
    case "sample":
      return Effect.map(
        Sampling.createMessage({ messages: [{ role: "user", content: { type: "text", text: name } }], maxTokens: 1 }),
        ({ model }) => model
      )
    case "roots":
      return Effect.map(Roots.list, ([root]) => root?.uri)
    case "once":
      return Once.run(
        name,
        Schema.String,
        Effect.sync(() => {
          steps.push(name)
          return name
        })
      )
    default:
      return Effect.succeed(name)
  }
}

/** A delay based on the length of the question, so that answers arrive out of order. */
const later = (text: string) => Effect.sleep(text.length % 7)
/** Moves the clock by a millisecond whenever no fiber can run. */
const ticking = Effect.forkScoped(Effect.forever(Effect.andThen(quiesce, TestClock.adjust("1 millis"))))
const everyone = Layer.mergeAll(
  Elicitation.layer({
    form: ({ message }) => Effect.as(later(message), { action: "accept", content: { name: `answer to ${message}` } })
  }),
  Sampling.layer(({ messages: [message] }) => {
    const text = message !== undefined && "text" in message.content ? message.content.text : "?"
    return Effect.as(later(text), { role: "assistant", content: { type: "text", text: "" }, model: `model of ${text}` })
  }),
  Roots.layerStatic([{ uri: "file:///a" }])
)

const expected = (leaf: typeof Leaf.Type, name: string) =>
  leaf === "form" ? `answer to ${name}` : leaf === "sample" ? `model of ${name}` : leaf === "roots" ? "file:///a" : name

const versions = ["2025-06-18", "2025-11-25", "2026-07-28"] as const
const pairs = versions.flatMap((downstream) => versions.map((upstream) => ({ downstream, upstream })))

describe.each(pairs)("A handler on $upstream that asks a $downstream client", ({ downstream, upstream }) => {
  it.effect("A handler behind a gateway receives its answers and runs its steps once", () =>
    Effect.gen(function* () {
      const play = (program: typeof programs extends Arbitrary.Arbitrary<infer A> ? A : never) =>
        Effect.gen(function* () {
          yield* ticking
          const steps: Array<string> = []
          const handler = Effect.forEach(program, (group, at) =>
            Effect.forEach(group, (leaf, n) => run(leaf, `${leaf} ${at}.${n}`, steps), { concurrency: "unbounded" })
          )
          const tool = Tools.layer(Tool.make("run", { description: "Runs it." }), () =>
            Effect.map(handler, (answers) => JSON.stringify(answers))
          )
          const server = McpServer.layer({ name: "behind", version: "0", features: tool })
          const behind = Context.get(yield* Layer.build(server), McpServer.McpServer)
          const connector = Effect.gen(function* () {
            const [client, end] = yield* Memory.pair()
            yield* behind.connect(end)
            return client
          })
          const gateway = yield* Layer.build(Gateway.layer({ connector, client: { revisions: [upstream] } }))
          const client = yield* Effect.scoped(
            Effect.flatMap(Effect.provide(join(Revision.get(downstream)!), everyone), (client) =>
              client.callToolByName("run")
            )
          ).pipe(Effect.provideContext(gateway))
          const [block] = client.content
          const names = program.map((group, at) => group.map((leaf, n) => [leaf, `${leaf} ${at}.${n}`] as const))
          assert.deepStrictEqual(
            JSON.parse(block?.type === "text" ? block.text : "null"),
            names.map((group) => group.map(([leaf, name]) => expected(leaf, name)))
          )
          assert.deepStrictEqual(
            steps.toSorted(),
            names
              .flat()
              .flatMap(([leaf, name]) => (leaf === "once" ? [name] : []))
              .toSorted()
          )
          assert.strictEqual(Context.get(gateway, Gateway.Gateway).calls(), 0)
          return true
        })
      const result = yield* Arbitrary.checkEffect(programs, (program) => Effect.scoped(play(program)), {
        runs: 25,
        seed: 20_261_121
      })
      assert.isUndefined(Arbitrary.formatCheckFailure(result))
    })
  )
})
