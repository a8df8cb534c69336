import { Revision } from "@effect-mcp/protocol"
import { scaled } from "@effect-mcp/spec/Scale"
import * as Fuzz from "@effect-mcp/testing/Fuzz"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { assertFinds } from "./finds.ts"
import { httpMutants } from "./httpMutants.ts"
import { target } from "./httpTarget.ts"

const spoken = Revision.all.filter(({ version }) => version >= "2025-03-26")

describe("The fuzzer over HTTP", () => {
  it.live.each(spoken)("finds nothing in a right server ($version)", (revision) =>
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

/** These are found within few conversations: `npm test` tries them, `npm run test:nightly` all. */
const soon = new Set([
  "takes notifications with status 200",
  "has events that are no JSON",
  "has the same id for all",
  "counts its sessions",
  "answers a GET with JSON",
  "needs no name",
  "does not decode names",
  "has status 200 for a missing capability",
  "does not forbid foreign origins"
])
const tried = httpMutants
  .toSorted((a, b) => Number(soon.has(b.name)) - Number(soon.has(a.name)))
  .slice(0, scaled(soon.size, httpMutants.length))

describe("A server over HTTP with one fault", () => {
  it.live.each(tried)("is found: it $name ", (mutant) =>
    Effect.flatMap(target(mutant.between), (target) => assertFinds(target, mutant))
  )
})
