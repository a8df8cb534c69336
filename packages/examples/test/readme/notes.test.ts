import { ClientExtension } from "@effect-mcp/client"
import { Extensions } from "@effect-mcp/core"
import { Notes } from "@effect-mcp/examples/readme/notes"
import { Revision } from "@effect-mcp/protocol"
import { McpTest } from "@effect-mcp/testing"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"

const server = Extensions.layer(Notes, {
  requests: {
    find: ({ text }) =>
      Effect.gen(function* () {
        const { id } = yield* Effect.orDie(
          Extensions.ask(Notes.questions.pick, { ids: [text.length, 7] })
        )
        return { ids: [id] }
      })
  }
})

const client = ClientExtension.layer(Notes, {
  questions: { pick: ({ ids }) => Effect.succeed({ id: ids.at(-1) ?? 0 }) }
})

it.effect.each(Revision.all)(
  "A search asks for one note ($version)",
  (revision) =>
    Effect.gen(function* () {
      const { request } = yield* McpTest.connect(server, revision)
      assert.deepStrictEqual(
        yield* request(Notes.requests.find, { text: "milk" }),
        { ids: [7] }
      )
    }).pipe(Effect.provide(client))
)
