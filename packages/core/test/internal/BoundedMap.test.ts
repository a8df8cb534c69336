import { BoundedMap } from "@effect-mcp/core/internal/inFlight"
import { assert, describe, it } from "@effect/vitest"

describe("BoundedMap", () => {
  it("Evicts the oldest entry", () => {
    const dropped: Array<number> = []
    const lru = new BoundedMap<string, number>(2, (value) => dropped.push(value))
    lru.set("a", 1).set("b", 2).set("a", 3).set("c", 4)
    assert.deepStrictEqual(
      [...lru],
      [
        ["a", 3],
        ["c", 4]
      ]
    )
    assert.deepStrictEqual(dropped, [2])
  })

  it("Keeps the other entries when one is read or deleted", () => {
    const lru = new BoundedMap<string, number>(2).set("a", 1).set("b", 2)
    assert.strictEqual(lru.get("a"), 1)
    assert.isTrue(lru.delete("b"))
    assert.deepStrictEqual([...lru.set("c", 3).keys()], ["a", "c"])
  })
})
