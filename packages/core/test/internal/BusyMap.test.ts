import { assert, describe, it } from "@effect/vitest"
import { BusyMap } from "@effect-mcp/core/internal/BusyMap"
import { Schema } from "effect"
import { spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"

const Key = Schema.Literals(["a", "b", "c", "d"])
const Commands = Schema.Array(Schema.Struct({ key: Key, value: Schema.UndefinedOr(Schema.Int) }))

describe("a BusyMap", () => {
  it.prop("holds what a Map holds, however often it is made anew", [Commands], ([commands]) => {
    const busy = new BusyMap<string, number>()
    const model = new Map<string, number>()
    // Often enough for it to be made anew several times in the middle of things.
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
    assert.deepStrictEqual(busy.keys(), [...model.keys()])
    assert.deepStrictEqual(busy.values(), [...model.values()])
    for (const key of model.keys()) assert.isTrue(busy.has(key) && busy.get(key) === model.get(key))
  })

  it("lets a young collection clear away what came and went since the last full one", () => {
    const source = fileURLToPath(new URL("../../src/internal/BusyMap.ts", import.meta.url))
    // What 64 at a time leave behind: the size of the heap before a full collection has cleared it away.
    const program = `
      import { BusyMap } from ${JSON.stringify(source)}
      const busy = new BusyMap()
      let most = 0
      for (let i = 0; i < 200_000; i++) {
        if (i === 50_000) gc()
        busy.set(i, { i, payload: new Array(100).fill(i) })
        busy.delete(i - 64)
        if (i > 50_000 && i % 1000 === 0) most = Math.max(most, process.memoryUsage().heapUsed)
      }
      console.log(most)
    `
    const { stderr, stdout } = spawnSync(
      process.execPath,
      ["--expose-gc", "--max-semi-space-size=16", "--input-type=module", "-e", program],
      { encoding: "utf8" }
    )
    assert.isBelow(Number(stdout), 60 * 1024 * 1024, stderr)
    assert.isAbove(Number(stdout), 0, stderr)
  })
})
