/** Amounts that callers hold, and which caller loses first. */
import { boundsOf, firstOfHeaviest, oldestOfHeaviest, Shares } from "@effect-mcp/core/internal/inFlight"
import { assert, describe, it } from "@effect/vitest"

describe("Shares", () => {
  it("A caller can hold its own share and no more", () => {
    const shares = new Shares(boundsOf(10, 0.5))
    shares.add("a", 5)
    assert.strictEqual(shares.exceededBy("a", 0), undefined)
    assert.strictEqual(shares.exceededBy("a", 1), "perCaller")
    assert.strictEqual(shares.exceededBy("b", 5), undefined)
    shares.add("a", -1)
    assert.strictEqual(shares.exceededBy("a", 1), undefined)
    assert.strictEqual(shares.exceededBy("b", 5), undefined)
  })

  it("All callers together hold at most the total", () => {
    const shares = new Shares(boundsOf(10, 0.5))
    for (const caller of ["a", "b"]) shares.add(caller, 5)
    assert.strictEqual(shares.exceededBy("c", 1), "total")
    shares.add("b", -5)
    assert.deepStrictEqual([shares.of("b"), shares.total, shares.exceededBy("c", 1)], [0, 5, undefined])
  })

  it("Callers without a key count only towards the total", () => {
    const shares = new Shares(boundsOf(10, 0.5))
    for (const caller of ["", undefined]) shares.add(caller, 5)
    assert.deepStrictEqual([shares.of(""), shares.of(undefined), shares.total], [0, 0, 10])
    assert.strictEqual(shares.exceededBy("", 0), undefined)
    assert.strictEqual(shares.exceededBy(undefined, 1), "total")
  })

  it("Infinite limits admit everything", () => {
    const shares = new Shares(boundsOf(Infinity, 0.5))
    assert.strictEqual(shares.exceededBy("a", 1e15), undefined)
  })
})

describe("Oldest holding of the largest caller", () => {
  const holdings = ["a", "b", "b", "c", "b", "a"].map((caller, at) => ({ caller, at, bytes: caller === "c" ? 9 : 1 }))

  it("Belongs to the caller holding the most", () => {
    assert.strictEqual(oldestOfHeaviest(holdings)?.at, 1)
    assert.strictEqual(oldestOfHeaviest(holdings, ({ bytes }) => bytes)?.at, 3)
    assert.strictEqual(oldestOfHeaviest([]), undefined)
  })

  it("Belongs to the requesting caller if several hold the most", () => {
    const equal = holdings.slice(3)
    assert.strictEqual(oldestOfHeaviest(equal)?.at, 3)
    assert.strictEqual(oldestOfHeaviest(equal, () => 1, "a")?.at, 5)
    assert.strictEqual(oldestOfHeaviest(holdings, () => 1, "a")?.at, 1)
  })

  it("Is found even if some callers hold nothing", () => {
    const held = (caller: string | undefined) => (caller === "c" ? 5 : 3)
    assert.strictEqual(firstOfHeaviest(holdings, held)?.at, 3)
    assert.strictEqual(firstOfHeaviest(holdings.slice(4), held)?.at, 4)
  })

  it("Is found among more callers than a function can take arguments", () => {
    const many = Array.from({ length: 200_000 }, (_, at) => ({ caller: `${at}`, at }))
    assert.strictEqual(oldestOfHeaviest([...many, { caller: "7", at: -1 }])?.at, 7)
  })
})
