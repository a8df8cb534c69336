import { assert, describe, it } from "@effect/vitest"
import { Duration } from "effect"
import { parseDuration } from "@effect-mcp/cli/Settings"
import * as Target from "@effect-mcp/cli/Target"

describe("Settings", () => {
  it("A duration is a number with a unit, or a bare number of seconds", () => {
    const millis = (text: string) => {
      const duration = parseDuration(text)
      return duration === undefined ? undefined : Duration.toMillis(duration)
    }
    assert.deepStrictEqual(
      ["30", "30s", "1.5s", "500ms", "2m", "1h", " 3 s "].map(millis),
      [30_000, 30_000, 1500, 500, 120_000, 3_600_000, 3000]
    )
    assert.deepStrictEqual(["", "0", "-1", "1d", "s", "1e3", "Infinity"].map(millis), Array(7).fill(undefined))
  })
})

describe("Target", () => {
  it("The server's command follows the first -- unchanged", () => {
    assert.deepStrictEqual(Target.split(["call", "x", "a=1", "--", "node", "s.js", "--", "--help"]), {
      own: ["call", "x", "a=1"],
      server: ["node", "s.js", "--", "--help"]
    })
    assert.deepStrictEqual(Target.split(["tools"]), { own: ["tools"], server: undefined })
  })

  it("A server is named by its command, and without one there is no server", () => {
    assert.strictEqual(Target.parse(["node", "s.js"])?.name, "node s.js")
    for (const words of [undefined, [], [""]]) assert.strictEqual(Target.parse(words), undefined)
  })
})
