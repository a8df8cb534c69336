/** The rate limit: per caller and method, with a burst; what is over it says when to come back. */
import * as Prompt from "@effect-mcp/core/Prompt"
import * as Prompts from "@effect-mcp/core/Prompts"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as RateLimit from "@effect-mcp/server/RateLimit"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, it } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { TestClock } from "effect/testing"
import { connect, everyVersion, serve } from "./support/raw.ts"

const features = Layer.mergeAll(
  Tools.layer(Tool.make("a", { description: "" }), () => Effect.succeed("")),
  Prompts.layer(Prompt.make("p", { arguments: { x: Schema.String } }), () => Effect.succeed(""), {
    complete: { x: () => Effect.succeed([]) }
  }),
  RateLimit.layer({ "tools/call": 5, "completion/complete": 1 })
)
const completion = { ref: { type: "ref/prompt", name: "p" }, argument: { name: "x", value: "" } }

for (const version of everyVersion()) {
  it.effect(
    `a caller has a burst, then so many per second (${version})${verifies("tools.security.rate-limited", "completion.security.rate-limited", "completion.server.rate-limited")}`,
    () =>
      Effect.gen(function* () {
        const server = yield* serve({ features })
        const client = yield* connect(server, { version })
        for (let n = 0; n < 10; n++) yield* client.call("a")
        const error = yield* client.refused("tools/call", { name: "a" })
        assert.deepStrictEqual([error.code, error.data], [McpError.LimitExceeded, { retryAfterMs: 200 }])
        // Other methods have budgets of their own, or none.
        yield* client.request("completion/complete", completion)
        yield* client.request("completion/complete", completion)
        assert.strictEqual((yield* client.refused("completion/complete", completion)).code, McpError.LimitExceeded)
        for (let n = 0; n < 50; n++) yield* client.request("tools/list")
        yield* TestClock.adjust("200 millis")
        yield* client.call("a")
        assert.strictEqual((yield* client.refused("tools/call", { name: "a" })).code, McpError.LimitExceeded)
        yield* TestClock.adjust("1 hour")
        for (let n = 0; n < 10; n++) yield* client.call("a")
        assert.strictEqual((yield* client.refused("tools/call", { name: "a" })).code, McpError.LimitExceeded)
      })
  )
}

it.effect("anonymous sessions count apart; one principal counts once, however many sessions it opens", () =>
  Effect.gen(function* () {
    const server = yield* serve({ features })
    const ann = { principal: { subject: "ann", scopes: [], claims: {} } }
    const [one, two, three, four] = [
      yield* connect(server),
      yield* connect(server),
      yield* connect(server, ann),
      yield* connect(server, ann)
    ]
    for (const client of [one, two, three]) for (let n = 0; n < 10; n++) yield* client.call("a")
    for (const client of [one, two, three, four]) {
      assert.strictEqual((yield* client.refused("tools/call", { name: "a" })).code, McpError.LimitExceeded)
    }
  })
)
