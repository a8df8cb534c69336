/** How long a body takes that is made to take long. */
import * as McpError from "@effect-mcp/protocol/McpError"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { echo, open } from "../http/support/http.ts"
import { openSession } from "../http/support/session.ts"

it.live("A body of a million members is refused as a whole, without a look at its members", () =>
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
    // Nine seconds each, when every member is looked at.
    assert.isBelow(performance.now() - before, 3000)
  })
)
