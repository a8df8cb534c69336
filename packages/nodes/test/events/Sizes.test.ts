/** The part of each stream that a node lets its store keep. */
import { assert, describe, it } from "@effect/vitest"
import { Sizes } from "../../src/events/Sizes.ts"

const MiB = 1024 * 1024

/** Returns the kept length of a stream whose writes have this length. */
const keptOf = (writes: number, length: number) => {
  const sizes = new Sizes()
  const places: Array<number> = []
  for (let place = 0; place < writes; place++) {
    places.push(place)
    const { dropped, from } = sizes.add("session", "stream", place, length)
    places.splice(0, dropped)
    if (dropped > 0) assert.strictEqual(places[0], from)
  }
  return places
}

describe("Stream sizes", () => {
  it("A stream keeps up to 4 MiB, and always its newest event", () => {
    for (const length of [100, 10_000, 100_000, MiB]) {
      const kept = keptOf(Math.ceil((6 * MiB) / length), length)
      assert.isAtMost(kept.length * length, 4 * MiB)
      assert.isAtLeast((kept.length + 1) * length, 4 * MiB - 65_536 - length)
    }
    assert.deepStrictEqual(keptOf(3, 9 * MiB), [2])
  })

  it("Stream sizes are forgotten with their stream or session", () => {
    const sizes = new Sizes()
    for (const stream of ["a", "b", "c"]) sizes.add("s", stream, 0, 1)
    sizes.add("t", "a", 0, 1)
    sizes.forget("s", "b")
    assert.strictEqual(sizes.count, 3)
    sizes.forget("s", undefined)
    assert.strictEqual(sizes.count, 1)
  })

  it("Stream sizes are limited even if other nodes took over the sessions", () => {
    const sizes = new Sizes()
    for (let session = 0; session < 10_000; session++) {
      sizes.add(`s${session}`, "a", 0, 1)
      sizes.add("lives", "a", session, 1)
    }
    assert.strictEqual(sizes.count, 4096)
    assert.isAbove(sizes.add("lives", "a", 10_000, 9 * MiB).dropped, 0)
  })
})
