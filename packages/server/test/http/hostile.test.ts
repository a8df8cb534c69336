/** Callers, stores and handlers that do what none should: none takes the endpoint from the others. */
import * as McpError from "@effect-mcp/protocol/McpError"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { echo, open } from "./support/http.ts"
import { openSession } from "./support/session.ts"

describe("a body", () => {
  it.live("of a million members is refused as a whole: it is no work, and no memory", () =>
    Effect.gen(function* () {
      const client = yield* open(echo)
      const session = yield* openSession(client, "2025-03-26")
      const body = `[${"0,".repeat(1_000_000)}0]`
      const before = performance.now()
      for (const send of [client.fetch, session.send]) {
        const reply = yield* send({ body })
        const { error } = yield* reply.json
        assert.deepStrictEqual([reply.status, error.code], [400, McpError.InvalidRequest])
      }
      // Nine seconds each, when every member was looked at.
      assert.isBelow(performance.now() - before, 3000)
    })
  )
})
