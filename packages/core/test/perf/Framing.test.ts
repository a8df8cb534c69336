/** Memory and time of the line decoder for lines crafted to be expensive. */
import { assert, describe, it } from "@effect/vitest"
import * as Framing from "../../src/transport/Framing.ts"

const encoder = new TextEncoder()
const bytes = (text: string) => encoder.encode(text)

describe("Line decoder performance", () => {
  it("An endless line uses almost no memory", () => {
    const decoder = new Framing.LineDecoder(1000)
    const chunk = new Uint8Array(64 * 1024).fill(120)
    const before = process.memoryUsage().arrayBuffers
    for (let n = 0; n < 1000; n++) assert.deepStrictEqual(decoder.push(chunk), [])
    assert.isBelow(process.memoryUsage().arrayBuffers - before, 16 * 1024 * 1024)
  })

  it("A line arriving byte by byte uses no more memory than its length", () => {
    const decoder = new Framing.LineDecoder()
    const heap = process.memoryUsage().heapUsed
    const drop = Uint8Array.of(120)
    for (let n = 0; n < 1_500_000; n++) decoder.push(drop)
    assert.isBelow(process.memoryUsage().heapUsed - heap, 90 * 1024 * 1024)
  })

  it("A line crafted against the decoder's patterns is not slow to read", () => {
    for (const piece of [" ", `"",`, `"":"",`, `\\`, `"\\"`, `,"id"`, "1"]) {
      const start = performance.now()
      new Framing.LineDecoder(100).push(bytes(`{${piece.repeat(4000)}\n`))
      assert.isBelow(performance.now() - start, 250)
    }
  })
})
