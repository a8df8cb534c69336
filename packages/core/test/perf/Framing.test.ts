/** What the line decoder keeps, and how long it takes, for lines made to hurt it. */
import { assert, describe, it } from "@effect/vitest"
import * as Framing from "../../src/transport/Framing.ts"

const encoder = new TextEncoder()
const bytes = (text: string) => encoder.encode(text)

describe("The line decoder", () => {
  it("The line decoder keeps hardly anything of a line that never ends", () => {
    const decoder = new Framing.LineDecoder(1000)
    const chunk = new Uint8Array(64 * 1024).fill(120)
    const before = process.memoryUsage().arrayBuffers
    for (let n = 0; n < 1000; n++) assert.deepStrictEqual(decoder.push(chunk), [])
    assert.isBelow(process.memoryUsage().arrayBuffers - before, 16 * 1024 * 1024)
  })

  it("The line decoder keeps no more than the bytes of a line that arrives byte by byte", () => {
    const decoder = new Framing.LineDecoder()
    const heap = process.memoryUsage().heapUsed
    const drop = Uint8Array.of(120)
    for (let n = 0; n < 1_500_000; n++) decoder.push(drop)
    assert.isBelow(process.memoryUsage().heapUsed - heap, 90 * 1024 * 1024)
  })

  it("The line decoder is not slow on a line made to make its patterns slow", () => {
    for (const piece of [" ", `"",`, `"":"",`, `\\`, `"\\"`, `,"id"`, "1"]) {
      const start = performance.now()
      new Framing.LineDecoder(100).push(bytes(`{${piece.repeat(4000)}\n`))
      assert.isBelow(performance.now() - start, 250)
    }
  })
})
