import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import * as Revision from "@effect-mcp/protocol/Revision"
import * as ResultType from "@effect-mcp/protocol/ResultType"
import { inputRequired, revision } from "@effect-mcp/protocol/internal/v2026_07_28"
import { verifies } from "@effect-mcp/spec/verifies"

type AnyCodec = Schema.Codec<unknown, unknown>
const codec = (method: keyof typeof revision.clientRequests): AnyCodec => revision.clientRequests[method]!.result

/** The smallest result of every method. */
const results = {
  "server/discover": { supportedVersions: [], capabilities: {} },
  "subscriptions/listen": { _meta: { "io.modelcontextprotocol/subscriptionId": 0 } },
  "completion/complete": { completion: { values: [] } },
  "prompts/get": { messages: [] },
  "prompts/list": { prompts: [] },
  "resources/list": { resources: [] },
  "resources/templates/list": { resourceTemplates: [] },
  "resources/read": { contents: [] },
  "tools/call": { content: [] },
  "tools/list": { tools: [] }
} as const
const cacheable = new Set<string>([
  "server/discover",
  "prompts/list",
  "resources/list",
  "resources/templates/list",
  "resources/read",
  "tools/list"
])

describe("A result of 2026-07-28", () => {
  it("Every method of 2026-07-28 has a result in these tests", () => {
    assert.deepStrictEqual(Object.keys(results).toSorted(), Object.keys(revision.clientRequests).toSorted())
  })

  for (const [method, result] of Object.entries(results)) {
    const wire = codec(method as keyof typeof results)
    const write = Schema.encodeUnknownSync(wire)
    const read = Schema.decodeUnknownSync(wire)
    const hints = cacheable.has(method) ? { ttlMs: 0, cacheScope: "private" } : {}

    it(
      `A result of ${method} is marked as complete, and carries hints only if the method is cacheable`,
      verifies("json-rpc.result.type-included", "caching.hints.included"),
      () => {
        assert.deepStrictEqual(write(result), { ...result, ...hints, resultType: "complete" })
        assert.deepStrictEqual(write({ ...result, resultType: "input_required" }), write(result))
      }
    )

    it(
      `A result of ${method} is read with its mark or without, and never of another type`,
      verifies("json-rpc.result.type-absent", "json-rpc.result.type-unknown"),
      () => {
        assert.strictEqual(read(result), result)
        assert.deepStrictEqual(read({ ...result, resultType: "complete" }), result)
        for (const type of ["input_required", "task", "Complete", "", 1, null]) {
          assert.throws(() => read({ ...result, resultType: type }), "is not a known type of result")
        }
      }
    )
  }

  it(
    "The time to live of a result is a whole number of milliseconds that is not negative",
    verifies("caching.ttl.not-negative"),
    () => {
      const write = Schema.encodeUnknownSync(codec("tools/list"))
      const ttl = (ttlMs: number) => (write({ tools: [], ttlMs, cacheScope: "public" }) as { ttlMs: number }).ttlMs
      assert.deepStrictEqual([0, 1000, 1.9, -1, -0.5, 1e300].map(ttl), [0, 1000, 1, 0, 0, Number.MAX_SAFE_INTEGER])
    }
  )

  it("A result keeps the caching hints that it has", () => {
    const hinted = { tools: [], ttlMs: 5, cacheScope: "public" }
    assert.deepStrictEqual(Schema.encodeUnknownSync(codec("tools/list"))(hinted), {
      ...hinted,
      resultType: "complete"
    })
  })

  it("A result that asks for input carries no hints", verifies("caching.hints.not-interim"), () => {
    const asking = { resultType: "input_required", requestState: "s" }
    assert.deepStrictEqual(Schema.encodeUnknownSync(inputRequired)(asking), asking)
  })

  it("A result of an older revision has no type", () => {
    const { result } = Revision.latestStateful.clientRequests["tools/call"]!
    assert.deepStrictEqual(Schema.encodeSync(result)({ content: [] }), { content: [] })
  })
})

describe("The type of a result", () => {
  it("The type of a result is read from the wire", () => {
    assert.strictEqual(ResultType.of({}), "complete")
    assert.strictEqual(ResultType.of({ resultType: "task" }), "task")
    assert.isTrue(ResultType.isInputRequired({ resultType: "input_required" }))
    for (const wire of [{}, { resultType: "complete" }, null, [], "input_required"]) {
      assert.isFalse(ResultType.isInputRequired(wire))
    }
  })

  it("The type of a result is put on and taken off without another change", () => {
    const wire = { a: [1] }
    assert.deepStrictEqual(ResultType.complete(wire), { a: [1], resultType: "complete" })
    assert.deepStrictEqual(ResultType.unmarked(ResultType.complete(wire)), wire)
    assert.strictEqual(ResultType.unmarked(wire), wire)
    for (const other of [null, [1], "a"]) {
      assert.strictEqual(ResultType.complete(other), other)
      assert.strictEqual(ResultType.unmarked(other), other)
    }
  })
})
