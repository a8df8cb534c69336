/** Garbage that a BusyMap leaves on the heap. */
import { assert, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"

describe("BusyMap memory", () => {
  it("A minor garbage collection clears entries added and removed since the last major one", () => {
    const source = fileURLToPath(new URL("../../src/internal/BusyMap.ts", import.meta.url))
    // Garbage of 64 entries at a time: the size of the heap before a full collection clears it.
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
