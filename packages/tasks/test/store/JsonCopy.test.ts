/** Copies and limits without a text, held against `JSON`. */
import { assert, describe, it } from "@effect/vitest"
import * as JsonCopy from "../../src/store/JsonCopy.ts"
import { bytesOf } from "../../src/store/Row.ts"

class Point {
  readonly x = 1
}

const nested = (depth: number): unknown => (depth === 0 ? "deep" : [nested(depth - 1)])
const withToJson = Object.assign([1], { toJSON: () => "own" })

const hidden = Object.defineProperty({ a: 1 }, "toJSON", { value: () => "own" })

const plain: ReadonlyArray<unknown> = [
  "text",
  '\u001f"\\é\u{1f600}\ud800',
  0,
  -1.5e-7,
  Number.MAX_VALUE,
  5e-324,
  -1.7976931348623157e308,
  true,
  false,
  null,
  [],
  {},
  [[1, "two", { three: [null] }]],
  { 2: "b", a: { b: { c: [true] } }, 1: "a", "": 0 },
  Object.assign(Object.create(null), { own: 1 }),
  nested(20)
]

const others: ReadonlyArray<unknown> = [
  undefined,
  Number.NaN,
  Infinity,
  -0,
  [undefined],
  // oxlint-disable-next-line no-sparse-arrays -- a hole is what is tested
  [1, , 2],
  { missing: undefined },
  { call: () => 1 },
  { [Symbol("own")]: 1, at: new Date(0) },
  new Point(),
  { toJSON: () => "own" },
  // As of `JSON.rawJSON`.
  Object.assign(Object.create(null), { rawJSON: "12345678901234567890" }),
  withToJson,
  hidden,
  Object.assign(Object.create(null), { toJSON: "text" }),
  JSON.parse('{ "__proto__": { "n": 1 } }'),
  nested(200)
]

const textOf = (value: unknown): string | undefined => JSON.stringify(value)

describe("a copy without a text", () => {
  it("A copy has no member of the prototype", () => {
    const value = { own: 1 }
    try {
      Object.assign(Object.prototype, { shared: "a".repeat(100) })
      assert.deepStrictEqual(Object.keys(JsonCopy.copyOf(value) ?? {}), ["own"])
    } finally {
      Reflect.deleteProperty(Object.prototype, "shared")
    }
  })

  it("The copy of a plain value is what its text gives, and shares nothing that may change", () => {
    for (const value of plain) {
      const copy = JsonCopy.copyOf(value)
      assert.deepStrictEqual(copy, JSON.parse(JSON.stringify(value)))
      assert.strictEqual(JSON.stringify(copy), JSON.stringify(value))
      if (typeof value === "object" && value !== null) assert.notStrictEqual(copy, value)
    }
    const inner = [1]
    const copy = JsonCopy.copyOf({ inner })
    inner.push(2)
    assert.deepStrictEqual(copy, { inner: [1] })
  })

  it("A value that its text would change has no copy", () => {
    for (const value of others) assert.strictEqual(JsonCopy.copyOf({ value }), JsonCopy.none, textOf(value))
    const cycle: { self?: unknown } = {}
    cycle.self = cycle
    assert.strictEqual(JsonCopy.copyOf(cycle), JsonCopy.none)
    assert.strictEqual(JsonCopy.copyOf(1n), JsonCopy.none)
  })

  it("A value fits where its text is not longer than the limit, to the byte", () => {
    for (const value of [...plain, ...others]) {
      const bytes = bytesOf(value)
      for (const most of [0, bytes - 1, bytes, bytes + 1, 10 * bytes + 100, Infinity]) {
        assert.strictEqual(JsonCopy.fits(value, most), bytes <= most, `${textOf(value)} ${most}`)
      }
    }
  })

  it("A value without a JSON form throws, however large the limit is", () => {
    const cycle: { self?: unknown } = {}
    cycle.self = cycle
    for (const most of [1e9, Infinity]) {
      assert.throws(() => JsonCopy.fits(cycle, most))
      assert.throws(() => JsonCopy.fits({ n: 1n }, most))
    }
  })
})
