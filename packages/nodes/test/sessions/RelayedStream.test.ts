/** Relayed streams of another node. */
import * as McpError from "@effect-mcp/protocol/McpError"
import { assert, describe, it } from "@effect/vitest"
import { RelayedStream } from "../../src/sessions/RelayedStream.ts"

const gone = McpError.interrupted("gone")
const eventOf = (message: object) => `id: 1\ndata: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`
const progress = eventOf({ method: "notifications/progress", params: { progressToken: 1, progress: 1 } })
const answer = (id: number) => eventOf({ id, result: {} })

/** Returns everything a client has read when the stream was cut after these texts. */
const readAfter = (ids: ReadonlyArray<number>, texts: Iterable<string>) => {
  const stream = new RelayedStream(ids)
  const body = stream.attach()
  for (const text of texts) stream.events(text)
  stream.cut(gone)
  let read = ""
  for (let text = stream.take(body); text !== ""; text = stream.take(body)) read += text
  return read
}

describe("Streams written by another node", () => {
  it("A relayed stream forwards whole events however they were split", () => {
    const text = progress + progress
    for (let length = 1; length <= text.length; length++) {
      const parts = Array.from({ length: Math.ceil(text.length / length) }, (_, at) =>
        text.slice(at * length, (at + 1) * length)
      )
      const read = readAfter([7], [...parts, "data: {"])
      assert.isTrue(read.startsWith(text), `parts of ${length}`)
      assert.include(read.slice(text.length), `"id":7`)
      assert.notInclude(read, "data: {\n")
      assert.strictEqual(readAfter([7], [...parts, answer(7)]), text + answer(7))
    }
  })

  it("A relayed stream reports each answered request of a batch before the stream ends", () => {
    const read = readAfter([1, 2, 3], [answer(2), ...Array.from({ length: 100 }, () => progress), answer(1), progress])
    assert.deepStrictEqual(
      [1, 2, 3].map((id) => read.split(`"id":${id},"error"`).length - 1),
      [0, 0, 1]
    )
  })
})
