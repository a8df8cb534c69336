import { ClientExtension } from "@effect-mcp/client"
import { Notes } from "@effect-mcp/examples/readme/notes"
import { notes } from "@effect-mcp/examples/readme/notes-server"
import { Revision } from "@effect-mcp/protocol"
import { McpTest } from "@effect-mcp/testing"
import { assert, it } from "@effect/vitest"
import { Effect, Queue } from "effect"

it.effect.each(Revision.all)(
  "A search asks for a note and reports it ($version)",
  (revision) =>
    Effect.gen(function* () {
      const told = yield* Queue.unbounded<number>()
      const client = ClientExtension.layer(Notes, {
        questions: { pick: ({ ids }) => Effect.succeed({ id: ids[0] ?? 0 }) },
        notifications: {
          added: ({ id }) => Effect.asVoid(Queue.offer(told, id))
        }
      })
      const { request } = yield* Effect.provide(
        McpTest.connect(notes, revision),
        client
      )
      assert.deepStrictEqual(
        yield* request(Notes.requests.find, { text: "milk" }),
        { ids: [4] }
      )
      assert.strictEqual(yield* Queue.take(told), 4)
    })
)
