/** Memory that arriving bodies hold, and which body is cut off to free it. */
import { assert, describe, it } from "@effect/vitest"
import { ArrivingBodies, type ArrivingBody, partCost } from "../../src/internal/ArrivingBodies.ts"

const opened = (bytes: { readonly total: number; readonly perCaller: number }, most = 100) => {
  const cut: Array<ArrivingBody> = []
  const bodies: ArrivingBodies<ArrivingBody> = new ArrivingBodies(most, bytes, (body) => {
    bodies.leave(body)
    cut.push(body)
  })
  const enter = (caller: string) => {
    const body: ArrivingBody = { caller, bytes: 0 }
    bodies.enter(body)
    return body
  }
  return { bodies, cut, enter }
}

describe("Arriving bodies", () => {
  it("Arriving bodies never exceed their byte limits, however their parts arrive", () => {
    const { bodies, cut, enter } = opened({ total: 100_000, perCaller: 50_000 })
    const all = Array.from({ length: 300 }, (_, at) => enter(`caller ${at % 3}`))
    for (let round = 0; round < 20; round++) {
      for (const body of all) {
        bodies.received(body, 500)
        assert.isAtMost(bodies.held, 100_000)
      }
    }
    for (const caller of ["caller 0", "caller 1", "caller 2"]) {
      const own = bodies.all().filter((body) => body.caller === caller)
      assert.isAtMost(
        own.reduce((sum, { bytes }) => sum + bytes, 0),
        50_000
      )
    }
    assert.strictEqual(bodies.size + cut.length, 300)
  })

  it("The oldest body of the caller holding the most bytes is cut off", () => {
    const { bodies, cut, enter } = opened({ total: 10_500, perCaller: 8000 })
    const [first, second, third] = [enter("a"), enter("b"), enter("b")]
    assert.isTrue(bodies.received(first, 3000))
    for (const body of [second, third]) assert.isTrue(bodies.received(body, 3000))
    assert.isTrue(bodies.received(first, 500))
    assert.deepStrictEqual(cut, [])
    assert.isTrue(bodies.received(first, 500))
    assert.deepStrictEqual(cut, [second])
  })

  it("A caller over its share is cut off, even if others hold the same amount", () => {
    const { bodies, cut, enter } = opened({ total: 20_000, perCaller: 5000 })
    const others = ["a", "b"].map(enter)
    for (const body of others) bodies.received(body, 4800)
    const [first, second] = [enter("c"), enter("c")]
    bodies.received(first, 3000)
    bodies.received(second, 3000)
    assert.deepStrictEqual(cut, [first])
  })

  it("A body stops counting once it arrives or is cut off", () => {
    const { bodies, enter } = opened({ total: 1000, perCaller: 1000 })
    const body = enter("a")
    assert.isTrue(bodies.received(body, 100))
    assert.strictEqual(bodies.held, 100 + partCost)
    assert.isFalse(bodies.received(body, 5000))
    assert.isFalse(bodies.received(body, 100))
    assert.isFalse(bodies.leave(body))
    const next = enter("a")
    bodies.received(next, 100)
    assert.isTrue(bodies.leave(next))
    assert.deepStrictEqual([bodies.held, bodies.size], [0, 0])
  })

  it("A new body makes room by cutting off the largest caller's oldest one", () => {
    const { cut, enter } = opened({ total: Infinity, perCaller: Infinity }, 3)
    const [, second] = ["a", "b", "b"].map(enter)
    enter("c")
    assert.deepStrictEqual(cut, [second])
  })
})
