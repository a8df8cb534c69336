import { Revision } from "@effect-mcp/protocol"
import { scaled } from "@effect-mcp/spec/Scale"
import * as Fuzz from "@effect-mcp/fuzz/Fuzz"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { assertFinds } from "./finds.ts"
import { tried } from "./httpMutants.ts"
import { target } from "./httpTarget.ts"

const spoken = Revision.all.filter(({ version }) => version >= "2025-03-26")

describe("HTTP fuzzer", () => {
  it.live.each(spoken)("The HTTP fuzzer finds nothing wrong with a correct server ($version)", (revision) =>
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

describe("HTTP servers with one fault", () => {
  it.live.each(tried)("The HTTP fuzzer finds a server with one fault: it $name", (mutant) =>
    Effect.flatMap(target(mutant.between), (target) => assertFinds(target, mutant))
  )
})
