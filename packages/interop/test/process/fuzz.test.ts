import { Revision } from "@effect-mcp/protocol"
import { scaled } from "@effect-mcp/spec/Scale"
import * as Fuzz from "@effect-mcp/fuzz/Fuzz"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { layer } from "@effect-mcp/interop/reference/everything"

describe("Fuzzing the reference server", () => {
  it.effect.each(Revision.all)("The fuzzer finds no violation in $version", (revision) =>
    Effect.gen(function* () {
      const runs = scaled(20, 1000)
      const report = yield* Fuzz.check(layer(), { revisions: [revision], runs, time: "1 day", patience: 500 })
      assert.strictEqual(report.conversations, runs)
      assert.isAtLeast(report.rules.filter(({ kept }) => kept > 0).length, 15)
    })
  )
})
