/** Skills and views under the fuzzer: a server that follows both extensions, and servers with one fault each. */
import { Revision } from "@effect-mcp/protocol"
import { scaled } from "@effect-mcp/spec/Scale"
import * as Check from "@effect-mcp/fuzz/Check"
import * as Fuzz from "@effect-mcp/fuzz/Fuzz"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Logger, Layer } from "effect"
import { extensionMutants } from "./extensionMutants.ts"
import { server } from "./extensions.ts"
import { assertFinds } from "./finds.ts"
import { target as httpTarget } from "./httpTarget.ts"
import { tapped } from "./mutants.ts"

const revisions = Revision.all.filter(({ version }) => version === "2026-07-28")

/** The rules of both extensions. */
const own = Fuzz.rules.filter(
  ({ name, section = "" }) =>
    /^extensions\/(skills|apps)#/.test(section) || /^(view|app-tool|tool-visibility)-/.test(name)
)

const unused = (report: Fuzz.FuzzReport) =>
  report.rules
    .filter(({ kept, rule }) => own.some(({ name }) => name === rule.name) && kept === 0)
    .map(({ rule }) => rule.name)

describe("Fuzzing a server of skills and views", () => {
  it.effect("The rules of skills and views find nothing wrong with a correct server, and all are used", () =>
    Effect.gen(function* () {
      const report = yield* Fuzz.check(server, { revisions, runs: scaled(600, 2000), time: "1 day", patience: 1000 })
      assert.deepStrictEqual(report.unconfirmed, [])
      assert.deepStrictEqual(unused(report), [])
    })
  )

  it.live("The rules of skills and views find nothing wrong with a correct HTTP server", () =>
    Effect.gen(function* () {
      const target = yield* httpTarget(undefined, Layer.provideMerge(server, Logger.layer([])))
      const only = own.map(({ name }) => name)
      const report = yield* Fuzz.run(target, { revisions, runs: scaled(150, 1000), time: "1 day", only })
      assert.isFalse(Fuzz.Report.fails(report), Fuzz.Report.text(report))
    })
  )

  it.effect("check uses every rule of skills and views", () =>
    Effect.gen(function* () {
      const report = yield* Check.run(yield* Fuzz.memory(server), { revisions, time: "1 day", patience: 200 })
      assert.deepStrictEqual(report.findings, [], Fuzz.Report.text(report))
      assert.deepStrictEqual(unused(report), [])
    })
  )
})

describe("Servers of skills and views with one fault", () => {
  it("Every rule of skills and views has a server that breaks it", () => {
    const broken = new Set(extensionMutants.map(({ finds }) => finds.split(" ")[0]))
    assert.deepStrictEqual(
      own.map(({ name }) => name).filter((name) => !broken.has(name)),
      []
    )
  })

  it.effect.each(extensionMutants)("The fuzzer finds a server with one fault: it $name", (mutant) =>
    Effect.flatMap(Fuzz.memory(server), (target) => assertFinds(tapped(target, mutant.tap), mutant))
  )
})
