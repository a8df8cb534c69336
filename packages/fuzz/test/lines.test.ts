import * as Traffic from "@effect-mcp/fuzz/Traffic"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"

const text = (value: string) => new TextEncoder().encode(value)

describe("Recorded lines", () => {
  it.effect("Lines of traffic can be endless and arrive in any chunks", () =>
    Effect.gen(function* () {
      const traffic = yield* Traffic.make({ name: "endless" })
      const wire = traffic.lines()
      for (const character of '{"jsonrpc":"2.0","method":"a"}\r\n\n \n{"jsonrpc":"2.0","method":"b"}\n') {
        wire.sent(text(character))
      }
      assert.strictEqual(traffic.report().messages, 2)
      // If each piece were appended to all earlier ones, a gigabyte would be copied for each of these.
      const piece = text("a".repeat(65_536))
      for (let index = 0; index < 2000; index++) wire.received(piece)
      wire.received(text("\n"))
      assert.strictEqual(traffic.report().messages, 3)
    })
  )
})
