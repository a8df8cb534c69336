/** Time to handle a body that is crafted to be slow. */
import * as McpError from "@effect-mcp/protocol/McpError"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { echo, open } from "../http/support/http.ts"
import { openSession } from "../http/support/session.ts"

it.live("A million-member body is rejected as a whole without parsing its members", () =>
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
    // Each takes nine seconds if every member is parsed.
    assert.isBelow(performance.now() - before, 3000)
  })
)
