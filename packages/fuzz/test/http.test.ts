import { Revision } from "@effect-mcp/protocol"
import { scaled } from "@effect-mcp/spec/Scale"
import * as Fuzz from "@effect-mcp/fuzz/Fuzz"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { assertFinds } from "./finds.ts"
import { tried } from "./httpMutants.ts"
import { target } from "./httpTarget.ts"

const spoken = Revision.all.filter(({ version }) => version >= "2025-03-26")

describe("The fuzzer over HTTP", () => {
  it.live.each(spoken)("The fuzzer over HTTP finds nothing in a right server ($version)", (revision) =>
    Effect.gen(function* () {
      const runs = scaled(12, 2000)
      const report = yield* Fuzz.run(yield* target(), { revisions: [revision], runs, time: "1 day", patience: 1000 })
      assert.isFalse(Fuzz.Report.fails(report), Fuzz.Report.text(report))
      assert.deepStrictEqual(report.unconfirmed, [])
      assert.strictEqual(report.conversations, runs)
      assert.isAtLeast(report.rules.filter(({ kept, rule }) => kept > 0 && rule.transport === "http").length, 3)
    })
  )
})

describe("servers over HTTP with one fault", () => {
  it.live.each(tried)("The fuzzer over HTTP finds a server with one fault: it $name", (mutant) =>
    Effect.flatMap(target(mutant.between), (target) => assertFinds(target, mutant))
  )
})
