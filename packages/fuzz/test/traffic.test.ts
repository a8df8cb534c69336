/** Observed traffic. The fuzzer is the client, so that everything that clients do occurs. */
import { Revision } from "@effect-mcp/protocol"
import { scaled } from "@effect-mcp/spec/Scale"
import * as Fuzz from "@effect-mcp/fuzz/Fuzz"
import * as Traffic from "@effect-mcp/fuzz/Traffic"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { tried } from "./httpMutants.ts"
import type { Faulty } from "./finds.ts"
import { target as httpTarget } from "./httpTarget.ts"
import { mutants, tapped } from "./mutants.ts"
import { server } from "./server.ts"

const bytes = (line: string) => new TextEncoder().encode(`${line}\n`)

/** Wraps the target so that its conversations are observed. */
const heard = (target: Fuzz.LineTarget, traffic: Traffic.TrafficRules): Fuzz.LineTarget => ({
  ...target,
  open: (receive) =>
    Effect.suspend(() => {
      const lines = traffic.lines()
      const opened = target.open((event) => {
        if (event._tag === "Line") lines.received(bytes(event.text))
        receive(event)
      })
      const listening = Effect.addFinalizer(() => Effect.sync(() => lines.end()))
      return Effect.andThen(
        listening,
        Effect.map(opened, (wire) => ({
          ...wire,
          send: (line: string) => {
            lines.sent(bytes(line))
            wire.send(line)
          }
        }))
      )
    })
})

const heardOverHttp = (target: Fuzz.HttpTarget, traffic: Traffic.HttpTraffic): Fuzz.HttpTarget => ({
  ...target,
  open: Effect.map(target.open, (wire) => ({
    ...wire,
    begin: (request, listener) => {
      const exchanged = traffic.begin(request)
      const cut = wire.begin(request, (event) => {
        exchanged.receive(event)
        listener(event)
      })
      return () => {
        exchanged.cut()
        cut()
      }
    }
  }))
})

const only = (version: string) => Revision.all.filter((revision) => revision.version === version)

/** Rules that only the fuzzer can judge, because it knows the server's history and its own intent. */
const unheard = new Set([
  "version-echoed",
  "resource-unknown",
  "resource-unknown-stateless",
  "completion-unknown-prompt",
  "http-session-required",
  "http-session-unknown",
  "survives"
])
/** A tool that is not listed may exist. */
const hidden = "resolves tools on its prototype"
const isHeard = ({ finds, name }: Faulty & { readonly name: string }) =>
  name !== hidden && !unheard.has(finds.split(" ")[0] ?? finds)
/** A quarter of the mutants by default, because the fuzzer's tests search each of them. */
const some = <A>(all: ReadonlyArray<A>): ReadonlyArray<A> => all.filter((_, index) => index % scaled(4, 1) === 0)

const wait: Fuzz.Command = { _tag: "Wait" }
const pages = (method: string): ReadonlyArray<Fuzz.Command> => [
  { _tag: "Request", method },
  wait,
  { _tag: "NextPage", method },
  wait,
  { _tag: "NextPage", method },
  wait
]

/** A conversation whose client first lists tools and prompts, as other clients do. */
const listing = ({ commands, revision }: Fuzz.Script): Fuzz.Script => {
  const listed = [...pages("tools/list"), ...pages("prompts/list")]
  const [first, ...rest] = commands
  const opened: ReadonlyArray<Fuzz.Command> = first?._tag === "Open" ? [first] : [{ _tag: "Open" }]
  return { revision, commands: [...opened, ...listed, ...(first?._tag === "Open" ? rest : commands)] }
}

/** Lets the fuzzer find the fault, then replays it with a client that lists first and judges all traffic. */
const find = Effect.fnUntraced(function* (target: Fuzz.Target, { finds, revision = "2025-11-25" }: Faulty) {
  const report = yield* Fuzz.run(target, {
    revisions: only(revision),
    only: [finds.split(" ")[0] ?? finds],
    runs: 600,
    time: "1 day",
    findings: 1,
    patience: 200
  })
  const [found] = report.findings
  const survey = report.surveys[0]
  if (found === undefined || survey === undefined) assert.fail(Fuzz.Report.text(report))
  else yield* Fuzz.play(target, survey, listing(found.script), { rules: [], patience: 200 })
})

const assertHeard = (traffic: Traffic.TrafficRules, { finds }: Faulty) => {
  const report = traffic.report()
  const isFound = report.findings.some(({ key, rule }) => key === finds || rule.name === finds)
  assert.isTrue(isFound, Fuzz.Report.text(report))
}

describe("Traffic over lines", () => {
  it.effect.each(Revision.all)("Traffic from a correct server over lines has no findings ($version)", ({ version }) =>
    Effect.gen(function* () {
      const traffic = yield* Traffic.make({ name: "right" })
      const target = heard(yield* Fuzz.memory(server), traffic)
      yield* Fuzz.run(target, { revisions: only(version), runs: scaled(50, 150), time: "1 day" })
      const report = traffic.report()
      assert.deepStrictEqual(report.findings, [], Fuzz.Report.text(report))
      assert.isAbove(report.messages ?? 0, scaled(300, 1000))
      assert.isAbove(report.rules.filter(({ kept }) => kept > 0).length, 15, Fuzz.Report.text(report))
    })
  )

  it.effect.each(some(mutants.filter(isHeard)))("Traffic over lines reveals that a server $name", (mutant) =>
    Effect.gen(function* () {
      const traffic = yield* Traffic.make({ name: "wrong", patience: 100 })
      yield* find(heard(tapped(yield* Fuzz.memory(server), mutant.tap), traffic), mutant)
      assertHeard(traffic, mutant)
    })
  )
})

describe("Traffic over HTTP", () => {
  it.live.each(Revision.all.filter(({ version }) => version >= "2025-03-26"))(
    "Traffic from a correct server over HTTP has no findings ($version)",
    ({ version }) =>
      Effect.gen(function* () {
        const traffic = yield* Traffic.make({ name: "right" })
        const http = traffic.http()
        const target = heardOverHttp(yield* httpTarget(), http)
        yield* Fuzz.run(target, { revisions: only(version), runs: scaled(10, 40), time: "1 day" })
        http.end()
        const report = traffic.report()
        assert.deepStrictEqual(report.findings, [], Fuzz.Report.text(report))
        assert.isAbove(report.messages ?? 0, scaled(50, 200))
        assert.isAbove(report.rules.filter(({ kept }) => kept > 0).length, 15, Fuzz.Report.text(report))
      })
  )

  it.live.each(some(tried.filter(isHeard)))("Traffic over HTTP reveals that a server $name", (mutant) =>
    Effect.gen(function* () {
      const traffic = yield* Traffic.make({ name: "wrong", patience: 100 })
      const http = traffic.http()
      yield* find(heardOverHttp(yield* httpTarget(mutant.between), http), mutant)
      http.end()
      assertHeard(traffic, mutant)
    })
  )
})
