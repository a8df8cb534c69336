/** A run of a task with earlier records, some of which its handler does not reach. */
import { Revision } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Logger } from "effect"
import * as Attempts from "../../src/server/Attempts.ts"
import { makeService } from "../../src/server/makeService.ts"
import * as Memory from "../../src/store/memory.ts"

const facts = {
  clientCapabilities: {},
  clientInfo: undefined,
  id: 1,
  meta: {},
  method: "tools/call",
  revision: Revision.latestStateful,
  sessionId: undefined,
  principal: { subject: undefined, scopes: [], claims: {} }
}
const client = { facts, before: { answers: {}, steps: {} }, trace: undefined }
const about = { tool: "tool", owner: "ada", createdAt: 0, attempt: 2, client }
const input = { owner: "ada", tool: "tool", input: {}, client: {}, ttl: 60_000, pollInterval: 1000 }

describe("Recorded task runs", () => {
  it.effect("A task keeps its result even if a logger throws", () =>
    Effect.gen(function* () {
      const lines: Array<string> = []
      const logger = Logger.make(({ message }) => {
        lines.push(String(message))
        throw new Error("No room")
      })
      const service = yield* makeService({})
      const { lease } = yield* service.store.create(input, "a")
      const entries = [{ _tag: "Step", key: "step:gone", value: 1 } as const]
      const { handler } = Attempts.attemptOf(service, lease, about, entries, Effect.succeed({ content: [] }))
      const result = yield* Effect.provide(handler, Logger.layer([logger]))
      assert.deepStrictEqual(result, { content: [] })
      assert.strictEqual(lines.length, 1)
    }).pipe(Effect.provide(Memory.layer()), Effect.scoped)
  )
})
