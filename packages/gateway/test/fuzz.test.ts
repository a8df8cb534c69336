/** The gateway under the fuzzer, in front of a server of each era: both in memory. */
import * as Revision from "@effect-mcp/protocol/Revision"
import { scaled } from "@effect-mcp/spec/Scale"
import * as Fuzz from "@effect-mcp/fuzz/Fuzz"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { layer } from "./support/gateway.ts"

const upstreams = [Revision.latestStateful, ...Revision.stateless]

describe.each(upstreams)("A gateway in front of a $version server", (upstream) => {
  it.effect.each(Revision.all)("The fuzzer finds no violation in $version", (revision) =>
    Effect.gen(function* () {
      const runs = scaled(10, 1000)
      const report = yield* Fuzz.check(layer(upstream), { revisions: [revision], runs, time: "1 day", patience: 500 })
      assert.strictEqual(report.conversations, runs)
      assert.isAtLeast(report.rules.filter(({ kept }) => kept > 0).length, 8)
    })
  )
})
