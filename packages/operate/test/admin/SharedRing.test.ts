import { assert, describe, it } from "@effect/vitest"
import { SharedRing } from "../../src/admin/SharedRing.ts"

describe("SharedRing", () => {
  it("An owner uses the whole capacity until others need their share", () => {
    const ring = new SharedRing<string, number>(8, 2)
    ring.push("quiet", 0)
    for (let at = 1; at <= 1000; at++) ring.push("loud", at)
    assert.deepStrictEqual(ring.of("quiet"), [0])
    assert.deepStrictEqual(ring.of("loud"), [994, 995, 996, 997, 998, 999, 1000])
    for (const at of [1, 2]) ring.push("late", at)
    assert.deepStrictEqual(ring.of("quiet"), [0])
    assert.deepStrictEqual(ring.of("late"), [1, 2])
    assert.deepStrictEqual(ring.of("loud"), [996, 997, 998, 999, 1000])
    for (let at = 3; at <= 1000; at++) ring.push("late", at)
    assert.deepStrictEqual(ring.of("late"), [999, 1000])
    assert.deepStrictEqual(ring.of("loud"), [996, 997, 998, 999, 1000])
  })

  it("Many owners share the capacity, and the oldest item is displaced first", () => {
    const ring = new SharedRing<string, number>(3, 2)
    for (const [at, owner] of ["a", "b", "c", "d", "d"].entries()) ring.push(owner, at)
    assert.deepStrictEqual(
      ["a", "b", "c", "d", "e"].map((owner) => ring.of(owner)),
      [[], [], [2], [3, 4], []]
    )
  })

  it("Keeps the latest item if the capacity is less than one", () => {
    const ring = new SharedRing<string, number>(0, 0)
    ring.push("a", 1)
    ring.push("b", 2)
    assert.deepStrictEqual([ring.of("a"), ring.of("b")], [[], [2]])
  })
})
