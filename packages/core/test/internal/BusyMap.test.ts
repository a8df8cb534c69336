import { assert, describe, it } from "@effect/vitest"
import { BusyMap, BusySet } from "@effect-mcp/core/internal/inFlight"
import { Schema } from "effect"

const Key = Schema.Literals(["a", "b", "c", "d"])
const Commands = Schema.Array(Schema.Struct({ key: Key, value: Schema.UndefinedOr(Schema.Int) }))

describe("BusyMap", () => {
  it.prop("A BusyMap has the same entries as a Map, however often its table is rebuilt", [Commands], ([commands]) => {
    const busy = new BusyMap<string, number>()
    const model = new Map<string, number>()
    // Often enough to rebuild the table several times in the middle of operations.
    for (let round = 0; round < 500; round++) {
      for (const { key, value } of commands) {
        if (value === undefined) assert.strictEqual(busy.delete(key), model.delete(key))
        else {
          busy.set(key, value)
          model.set(key, value)
        }
      }
      busy.set("passing", round)
      busy.delete("passing")
    }
    assert.strictEqual(busy.size, model.size)
    assert.deepStrictEqual(busy.first(), [...model][0])
    assert.deepStrictEqual(busy.keys(), [...model.keys()])
    assert.deepStrictEqual(busy.values(), [...model.values()])
    for (const key of model.keys()) assert.isTrue(busy.has(key) && busy.get(key) === model.get(key))
  })
})

describe("BusySet", () => {
  it("A BusySet iterates over a snapshot and keeps the changes made meanwhile", () => {
    const busy = new BusySet<string>()
    for (const value of ["a", "b", "b", "c"]) busy.add(value)
    const seen: Array<string> = []
    for (const value of busy) {
      seen.push(value)
      busy.delete(value)
      busy.add(`${value}2`)
    }
    assert.deepStrictEqual(seen, ["a", "b", "c"])
    assert.deepStrictEqual([...busy].toSorted(), ["a2", "b2", "c2"])
    assert.isFalse(busy.delete("a"))
  })
})
