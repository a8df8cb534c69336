/** The time to relay a large event from another node. */
import { assert, describe, it } from "@effect/vitest"
import { RelayedStream } from "../../src/sessions/RelayedStream.ts"

describe("Streams written by another node", () => {
  it("A relayed 64 MiB event in small parts arrives in less than five seconds", () => {
    const stream = new RelayedStream([1])
    const body = stream.attach()
    const part = "x".repeat(8192)
    const began = performance.now()
    stream.events("data: ")
    for (let count = 0; count < 8192; count++) stream.events(part)
    stream.events("\n\n")
    let read = 0
    for (let text = stream.take(body); text !== ""; text = stream.take(body)) read += text.length
    assert.strictEqual(read, "data: \n\n".length + 64 * 1024 * 1024)
    assert.isBelow(performance.now() - began, 5000)
  })
})
