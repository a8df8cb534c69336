import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import * as Revision from "@effect-mcp/protocol/Revision"
import * as ResultType from "@effect-mcp/protocol/ResultType"
import { inputRequired, revision } from "@effect-mcp/protocol/internal/eras"
import { verifies } from "@effect-mcp/spec/verifies"

type AnyCodec = Schema.Codec<unknown, unknown>
const codec = (method: keyof typeof revision.clientRequests): AnyCodec => revision.clientRequests[method]!.result

/** One method of each kind; `Codec.test.ts` covers the results of all methods. */
const results = { "tools/call": { content: [] }, "tools/list": { tools: [] } } as const

describe("Results in 2026-07-28", () => {
  for (const [method, result] of Object.entries(results)) {
    const wire = codec(method as keyof typeof results)
    const write = Schema.encodeUnknownSync(wire)
    const read = Schema.decodeUnknownSync(wire)
    const hints = method === "tools/list" ? { ttlMs: 0, cacheScope: "private" } : {}

    it(
      `A ${method} result is marked as complete, with caching hints if cacheable`,
      verifies("json-rpc.result.type-included", "caching.hints.included"),
      () => {
        assert.deepStrictEqual(write(result), { ...result, ...hints, resultType: "complete" })
        assert.deepStrictEqual(write({ ...result, resultType: "input_required" }), write(result))
      }
    )

    it(
      `A ${method} result is read with or without its type, but never with another type`,
      verifies("json-rpc.result.type-absent", "json-rpc.result.type-unknown"),
      () => {
        assert.strictEqual(read(result), result)
        assert.deepStrictEqual(read({ ...result, resultType: "complete" }), result)
        for (const type of ["input_required", "task", "Complete", "", 1, null]) {
          assert.throws(() => read({ ...result, resultType: type }), "is not a known result type")
        }
      }
    )
  }

  it(
    "A result's time to live is a non-negative whole number of milliseconds",
    verifies("caching.ttl.not-negative"),
    () => {
      const write = Schema.encodeUnknownSync(codec("tools/list"))
      const ttl = (ttlMs: number) => (write({ tools: [], ttlMs, cacheScope: "public" }) as { ttlMs: number }).ttlMs
      assert.deepStrictEqual([0, 1000, 1.9, -1, -0.5, 1e300].map(ttl), [0, 1000, 1, 0, 0, Number.MAX_SAFE_INTEGER])
    }
  )

  it("A result keeps its own caching hints", () => {
    const hinted = { tools: [], ttlMs: 5, cacheScope: "public" }
    assert.deepStrictEqual(Schema.encodeUnknownSync(codec("tools/list"))(hinted), {
      ...hinted,
      resultType: "complete"
    })
  })

  it("A result that asks for input has no caching hints", verifies("caching.hints.not-interim"), () => {
    const asking = { resultType: "input_required", requestState: "s" }
    assert.deepStrictEqual(Schema.encodeUnknownSync(inputRequired)(asking), asking)
  })

  it("A result in an older revision has no type", () => {
    const { result } = Revision.latestStateful.clientRequests["tools/call"]!
    assert.deepStrictEqual(Schema.encodeSync(result)({ content: [] }), { content: [] })
  })
})

describe("Result types", () => {
  it("A result's type is read from the wire", () => {
    assert.strictEqual(ResultType.of({}), "complete")
    assert.strictEqual(ResultType.of({ resultType: "task" }), "task")
    assert.isTrue(ResultType.isInputRequired({ resultType: "input_required" }))
    for (const wire of [{}, { resultType: "complete" }, null, [], "input_required"]) {
      assert.isFalse(ResultType.isInputRequired(wire))
    }
  })

  it("A result's type is added and removed without other changes", () => {
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
