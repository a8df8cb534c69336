/** Step names of a handler, in every revision. */
import { Once, Tool, Tools } from "@effect-mcp/core"
import * as Revision from "@effect-mcp/protocol/Revision"
import { McpTest } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Logger, Schema } from "effect"

describe.each(Revision.all)("Steps of a handler in $version", ({ version }) => {
  const Save = Tool.make("save", { description: "", input: { names: Schema.Array(Schema.String) } })

  it.effect("A name that is used twice is a defect that names the step", () => {
    const logged: Array<string> = []
    const save = Tools.layer(Save, ({ names }) =>
      Effect.as(
        Effect.forEach(names, (name) => Once.run(name, Schema.String, Effect.succeed(name)), { discard: true }),
        "saved"
      )
    )
    return Effect.gen(function* () {
      const client = yield* McpTest.connect(save, version)
      // The names belong to one request.
      yield* client.callToolByName("save", { names: ["a", "b"] })
      yield* client.callToolByName("save", { names: ["a", "b"] })
      yield* Effect.flip(client.callToolByName("save", { names: ["a", "b", "a"] }))
      assert.include(logged.join("\n"), `Duplicate step name "a": each Once.run`)
    }).pipe(
      Effect.provide(
        Logger.layer([
          Logger.make(({ cause, message }) => {
            logged.push(`${String(message)} ${Cause.pretty(cause)}`)
          })
        ])
      )
    )
  })

  it.effect("A failed step may run again under its name", () => {
    let attempts = 0
    const flaky = Once.run(
      "flaky",
      Schema.String,
      Effect.suspend(() => (++attempts === 1 ? Effect.fail("no") : Effect.succeed("yes")))
    )
    const save = Tools.layer(Save, () => Effect.orDie(Effect.retry(flaky, { times: 1 })))
    return Effect.gen(function* () {
      const client = yield* McpTest.connect(save, version)
      const { content } = yield* client.callToolByName("save", { names: [] })
      assert.deepStrictEqual(content, [{ type: "text", text: "yes" }])
      assert.strictEqual(attempts, 2)
    })
  })
})
