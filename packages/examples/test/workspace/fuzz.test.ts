/** The workspace server under the fuzzer, over files in memory. */
import { Revision } from "@effect-mcp/protocol"
import { McpServer } from "@effect-mcp/server"
import { scaled } from "@effect-mcp/spec/Scale"
import { Fuzz } from "@effect-mcp/fuzz"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { serve } from "./support.ts"

describe("Fuzzing the workspace server", () => {
  it.effect.each(Revision.all)("The fuzzer finds no violation in $version", (revision) =>
    Effect.gen(function* () {
      const runs = scaled(15, 1000)
      const server = Layer.effect(McpServer.McpServer, serve())
      const report = yield* Fuzz.check(server, { revisions: [revision], runs, time: "1 day", patience: 500 })
      assert.strictEqual(report.conversations, runs)
      assert.isAtLeast(report.rules.filter(({ kept }) => kept > 0).length, 8)
    })
  )
})
