import { Revision } from "@effect-mcp/protocol"
import { scaled } from "@effect-mcp/spec/Scale"
import * as Check from "@effect-mcp/fuzz/Check"
import * as Fuzz from "@effect-mcp/fuzz/Fuzz"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import type { Faulty } from "./finds.ts"
import { target as httpTarget } from "./httpTarget.ts"
import { httpMutants } from "./httpMutants.ts"
import { mutants, tapped } from "./mutants.ts"
import { server } from "./server.ts"

const { Report } = Fuzz

const checked = (target: Fuzz.Target, revision: string) =>
  Check.run(target, {
    revisions: Revision.all.filter(({ version }) => version === revision),
    time: "1 day",
    patience: 200
  })

describe("check in memory", () => {
  it.effect.each(Revision.all)("check finds nothing wrong with a correct server ($version)", ({ version }) =>
    Effect.gen(function* () {
      const report = yield* checked(yield* Fuzz.memory(server), version)
      assert.deepStrictEqual([report.findings, report.unconfirmed, report.isCut], [[], [], false])
      assert.isAtLeast(report.rules.filter(({ kept }) => kept > 0).length, 20)
    })
  )

  it.effect("check starts with the newest revision and always plays the same conversations", () =>
    Effect.gen(function* () {
      const target = yield* Fuzz.memory(server)
      const report = yield* Check.run(target, { time: "1 day", patience: 200 })
      assert.deepStrictEqual(report.revisions, Revision.all.map(({ version }) => version).toReversed())
      const again = yield* Check.run(target, { time: "1 day", patience: 200 })
      assert.deepStrictEqual(again.rules, report.rules)
    })
  )
})

describe("check over HTTP", () => {
  it.live.each(Revision.all.filter(({ version }) => version >= "2025-03-26"))(
    "check finds nothing wrong with a correct HTTP server ($version)",
    ({ version }) =>
      Effect.gen(function* () {
        const report = yield* checked(yield* httpTarget(), version)
        assert.deepStrictEqual(report.findings, [], Report.text(report))
        assert.isAtLeast(report.rules.filter(({ kept }) => kept > 0).length, 30)
      })
  )
})

/** Names of the faulty servers that a check does not detect. */
const missedOf = Effect.fnUntraced(function* <M extends Faulty & { readonly name: string }, R>(
  all: ReadonlyArray<M>,
  open: (mutant: M) => Effect.Effect<Fuzz.Target, Fuzz.TargetError, R>
) {
  const missed: Array<string> = []
  for (const mutant of all) {
    const report = yield* Effect.option(checked(yield* open(mutant), mutant.revision ?? "2025-11-25"))
    const findings = Option.isSome(report) ? report.value.findings : []
    if (!findings.some(({ key, rule }) => key === mutant.finds || rule.name === mutant.finds)) missed.push(mutant.name)
  }
  return missed
})

describe("check on servers with one fault", () => {
  it.effect("check finds nearly every fault found by a search", () =>
    Effect.gen(function* () {
      const tried = mutants.filter((_, index) => index % scaled(5, 1) === 0)
      const missed = yield* missedOf(tried, ({ tap }) =>
        Effect.map(Fuzz.memory(server), (target) => tapped(target, tap))
      )
      // The remaining ones need two questions in a session, or values that only a search tries.
      assert.isAtMost(missed.length, scaled(2, 8), missed.join(", "))
    })
  )

  it.live("check over HTTP finds every header and status code fault found by a search", () =>
    Effect.gen(function* () {
      const tried = httpMutants.filter((_, index) => index % scaled(20, 1) === 0)
      const missed = yield* missedOf(tried, ({ between }) => httpTarget(between))
      assert.deepStrictEqual(
        missed.filter((name) => name !== "replays events from another stream"),
        []
      )
    })
  )
})

describe("check reports", () => {
  const hostile = "x\u001b[2J\u202e<b>\n|[a](http://evil)"
  const rule = (name: string, section: string | undefined, about?: string): Fuzz.Rule => ({
    name,
    level: section === undefined ? "robustness" : "MUST",
    section,
    text: `The rule ${name} is kept.`,
    on: { Answered: () => (about === undefined ? "pass" : { detail: `It says ${about}`, about }) }
  })
  const reported = Effect.gen(function* () {
    return yield* Check.run(yield* Fuzz.memory(server), {
      revisions: [Revision.latestStateful],
      rules: [
        rule("own-z-kept", "server/tools#list"),
        rule("own-broken", "server/tools#call", hostile),
        rule("own-robust", undefined),
        { ...rule("own-later", "basic#messages"), since: "2026-07-28" },
        { ...rule("own-http", "basic/transports#http"), transport: "http" }
      ],
      only: ["own-"],
      time: "1 day"
    })
  })

  it.effect("The text report groups rules by specification page and shows the messages sent", () =>
    Effect.gen(function* () {
      const text = Check.text(yield* reported, { replay: () => "effect-mcp check" })
      const places = [
        "basic  https://modelcontextprotocol.io/specification/",
        "- The rule own-later is kept. (not applicable: only since 2026-07-28)",
        "basic/transports  ",
        "- The rule own-http is kept. (not applicable: only over Streamable HTTP)",
        "server/tools  https://modelcontextprotocol.io/specification/2025-11-25/server/tools",
        "✓ The rule own-z-kept is kept.",
        "✗ MUST The rule own-broken is kept. Broken in 2025-11-25.",
        "Robustness (not covered",
        "✗ MUST  own-broken",
        "https://modelcontextprotocol.io/specification/2025-11-25/server/tools#call",
        '> {"jsonrpc":"2.0",',
        "Check it again: effect-mcp check",
        "2025-11-25  1 of 2"
      ].map((part) => [part, text.indexOf(part)] as const)
      assert.deepStrictEqual(
        places,
        places.toSorted(([, one], [, two]) => one - two)
      )
      for (const [part, place] of places) assert.isAtLeast(place, 0, `${part} in\n${text}`)
    })
  )

  it.effect("Hostile server text is escaped for terminals, XML and Markdown", () =>
    Effect.gen(function* () {
      const report = yield* reported
      for (const text of [Check.text(report), Report.junit(report), Report.markdown(report)])
        assert.isFalse(
          ["\u001b", "\u202e"].some((c) => text.includes(c)),
          text
        )
      assert.notInclude(Report.junit(report), "<b>")
      assert.include(Report.junit(report), '<skipped message="only over Streamable HTTP"/>')
      assert.notMatch(Report.markdown(report), /<b>|\]\(http|http:\/\/evil/)
    })
  )

  it.effect("The badge shows whether every MUST is met", () =>
    Effect.gen(function* () {
      const broken = yield* reported
      const right = { ...broken, findings: [] }
      assert.deepStrictEqual(Check.badge(broken), {
        schemaVersion: 1,
        label: "MCP",
        message: "2025-11-25, 1 MUST broken",
        color: "red"
      })
      assert.include(Check.badgeSvg(right), "2025-11-25, all rules kept")
      assert.include(Check.badgeSvg({ ...right, isCut: true }), "not checked")
    })
  )
})
