/** Failures of the gateway's client to answer a question with a method that the gateway does not know. */
import { type AskError, CapabilityMissing, Declined } from "@effect-mcp/core/ClientInput"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Revision from "@effect-mcp/protocol/Revision"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as UnknownMethods from "../../src/call/UnknownMethods.ts"

const revision = Revision.get("2025-11-25")!
const next = Effect.fail(McpError.internalError("not asked"))

/** The upstream server's error if asking the client fails. */
const refusedBy = (failure: AskError | McpError.McpError, method = "com.example/which") =>
  Effect.flip(
    UnknownMethods.questions(() => Effect.fail(failure))(
      { method, params: {}, relatedTo: undefined, revision, server: { name: "behind", version: "1" } },
      next,
      () => next
    )
  )

describe("Questions with an unknown method", () => {
  it.effect("A client's own error reaches the upstream server unchanged", () =>
    Effect.gen(function* () {
      const error = new McpError.McpError({ code: 4711, message: "broken", data: { why: "so" } })
      assert.deepStrictEqual(yield* refusedBy(error), error)
    })
  )

  it.effect("A client without the capability answers that the method is unknown", () =>
    Effect.gen(function* () {
      const error = yield* refusedBy(new CapabilityMissing({ capability: "com.example", message: "no" }))
      assert.deepStrictEqual(error, McpError.methodNotFound("com.example/which"))
    })
  )

  it.effect("A declining client answers with the user rejection code", () =>
    Effect.gen(function* () {
      const error = yield* refusedBy(new Declined({ action: "decline", message: "not today" }))
      assert.deepInclude(error, { code: McpError.UserRejected, message: "not today" })
    })
  )

  it.effect("A question with a known method is answered by the client's services", () =>
    Effect.gen(function* () {
      assert.propertyVal(
        yield* refusedBy(new Declined({ action: "decline", message: "no" }), "roots/list"),
        "message",
        "not asked"
      )
    })
  )
})
