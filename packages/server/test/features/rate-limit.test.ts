/** The rate limit: on by default, per caller and method, with a burst. A rejection says when to retry. */
import * as Elicitation from "@effect-mcp/core/Elicitation"
import * as Prompt from "@effect-mcp/core/Prompt"
import * as Prompts from "@effect-mcp/core/Prompts"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import type { Sink } from "@effect-mcp/core/Transport"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as McpServer from "@effect-mcp/server/McpServer"
import * as RateLimit from "@effect-mcp/server/RateLimit"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { TestClock } from "effect/testing"
import { metaOf } from "../support/modern.ts"
import { connect, everyVersion, serve } from "../support/raw.ts"

const features = Layer.mergeAll(
  Tools.layer(Tool.make("a", { description: "" }), () => Effect.succeed("")),
  Prompts.layer(Prompt.make("p", { arguments: { x: Schema.String } }), () => Effect.succeed(""), {
    complete: { x: () => Effect.succeed([]) }
  })
)
const completion = { ref: { type: "ref/prompt", name: "p" }, argument: { name: "x", value: "" } }
const options = { features, rateLimit: { "tools/call": 5, "completion/complete": 1 } }
const ann = { principal: { subject: "ann", scopes: [], claims: { iss: "https://a.example" } } }
const otherAnn = { principal: { subject: "ann", scopes: [], claims: { iss: "https://b.example" } } }

for (const version of everyVersion()) {
  it.effect(
    `A caller can make a burst of calls, then a number of calls per second (${version})`,
    () =>
      Effect.gen(function* () {
        const server = yield* serve(options)
        const client = yield* connect(server, { version })
        for (let n = 0; n < 10; n++) yield* client.call("a")
        const error = yield* client.refused("tools/call", { name: "a" })
        assert.deepStrictEqual(
          [error.code, error.data],
          [McpError.LimitExceeded, { limit: "rateLimit", allowed: 5, retryAfterMs: 200 }]
        )
        assert.include(error.message, "each caller may send 5 tools/call requests per second. Try again in 200 ms")
        // Other methods have separate budgets, or no limit.
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
      }),
    verifies("tools.security.rate-limited", "completion.security.rate-limited", "completion.server.rate-limited")
  )

  it.effect(
    `Rate limits are on by default; \`false\` disables them (${version})`,
    () =>
      Effect.gen(function* () {
        const burst = 2 * (RateLimit.defaults["tools/call"] ?? 0)
        const limited = yield* connect(yield* serve({ features }), { version })
        const free = yield* connect(yield* serve({ features, rateLimit: false }), { version })
        for (const client of [limited, free]) for (let n = 0; n < burst; n++) yield* client.call("a")
        yield* free.call("a")
        const error = yield* limited.refused("tools/call", { name: "a" })
        assert.strictEqual(error.code, McpError.LimitExceeded)
        for (let n = 0; n < burst; n++) yield* limited.request("completion/complete", completion)
        const other = yield* limited.refused("completion/complete", completion)
        assert.strictEqual(other.code, McpError.LimitExceeded)
      }),
    verifies("tools.security.rate-limited", "completion.security.rate-limited", "completion.server.rate-limited")
  )
}

describe("Callers", () => {
  it.effect("Anonymous sessions count separately, and a principal's sessions count together", () =>
    Effect.gen(function* () {
      const server = yield* serve(options)
      const [one, two, three, four, five] = [
        yield* connect(server),
        yield* connect(server),
        yield* connect(server, ann),
        yield* connect(server, ann),
        yield* connect(server, otherAnn)
      ]
      for (const client of [one, two, three, five]) for (let n = 0; n < 10; n++) yield* client.call("a")
      for (const client of [one, two, three, four, five]) {
        assert.strictEqual((yield* client.refused("tools/call", { name: "a" })).code, McpError.LimitExceeded)
      }
    })
  )

  it.effect("Sessionless callers count by principal and address, or together if unknown", () =>
    Effect.gen(function* () {
      const server = yield* serve(options)
      const accepted = (who: { readonly principal?: any; readonly address?: string }) =>
        Effect.gen(function* () {
          let count = 0
          for (let n = 0; n < 12; n++) if ("result" in (yield* post(server, who))) count++
          return count
        })
      assert.strictEqual(yield* accepted({ address: "10.0.0.1" }), 10)
      assert.strictEqual(yield* accepted({ address: "10.0.0.2" }), 10)
      assert.strictEqual(yield* accepted({ address: "10.0.0.2" }), 0)
      assert.strictEqual(yield* accepted({ ...ann, address: "10.0.0.2" }), 10)
      assert.strictEqual(yield* accepted({ ...ann, address: "10.0.0.3" }), 0)
      assert.strictEqual(yield* accepted({}), 10)
      assert.strictEqual(yield* accepted({}), 0)
    })
  )

  it.effect("Only callers with a full budget are forgotten", () =>
    Effect.gen(function* () {
      const server = yield* serve(options)
      for (let n = 0; n < 10; n++) yield* post(server, { address: "busy" })
      for (let n = 0; n < 5000; n++) yield* post(server, { address: `10.0.${n >> 8}.${n & 255}` })
      assert.notProperty(yield* post(server, { address: "busy" }), "result")
    })
  )
})

describe("Requests that ask their client in rounds (2026-07-28)", () => {
  const asking = Tools.layer(Tool.make("ask", { description: "" }), () =>
    Effect.as(Effect.orDie(Elicitation.form("Who?", Schema.Struct({ name: Schema.String }))), "")
  )
  const capabilities = { elicitation: { form: {} } }

  it.effect("A request that asks in rounds counts once (2026-07-28)", () =>
    Effect.gen(function* () {
      const server = yield* serve({ features: asking, rateLimit: { "tools/call": 1 } })
      const client = yield* connect(server, {
        version: "2026-07-28",
        capabilities,
        answer: () => Effect.succeed({ action: "accept", content: { name: "Ada" } })
      })
      yield* client.call("ask")
      yield* client.call("ask")
      assert.strictEqual((yield* client.refused("tools/call", { name: "ask" })).code, McpError.LimitExceeded)
    })
  )

  it.effect("A rate limit also bounds later rounds, whatever their state (2026-07-28)", () =>
    Effect.gen(function* () {
      const server = yield* serve({ features: asking, rateLimit: { "tools/call": 1 } })
      const client = yield* connect(server, { version: "2026-07-28", capabilities })
      const codes: Array<number> = []
      for (let n = 0; n < 21; n++) {
        codes.push((yield* client.refused("tools/call", { name: "ask", requestState: "forged" })).code)
      }
      assert.deepStrictEqual(
        codes.slice(0, 20),
        Array.from({ length: 20 }, () => McpError.InvalidParams)
      )
      assert.strictEqual(codes[20], McpError.LimitExceeded)
    })
  )
})

/** A single request of the stateless era. */
function post(
  server: McpServer.McpServer["Service"],
  { address, principal }: { readonly principal?: any; readonly address?: string }
) {
  return Effect.gen(function* () {
    const sent: Array<any> = []
    const sink: Sink = { send: (message) => void sent.push(message), writable: () => true, ready: Effect.void }
    const params = { name: "a", _meta: metaOf() }
    yield* McpServer.dispatch(server)({ jsonrpc: "2.0", id: 1, method: "tools/call", params }, { principal }, sink, {
      address
    })
    return sent[0]
  })
}
