/** Searches for one fault, for the tests of the fuzzer. */
import { Revision } from "@effect-mcp/protocol"
import { scaled } from "@effect-mcp/spec/Scale"
import * as Fuzz from "@effect-mcp/fuzz/Fuzz"
import { assert } from "@effect/vitest"
import { Effect } from "effect"

/** A server with one fault. */
export interface Faulty {
  /** The key of the finding, or the name of its rule. */
  readonly finds: string
  /** Revision. Default 2025-11-25. */
  readonly revision?: Revision.Version | undefined
  /** Maximum number of client messages in the shortest conversation. Default 8. */
  readonly messages?: number | undefined
}

/** Checks that the search finds the fault, with a conversation of at most 8 client messages. */
export const assertFinds = Effect.fnUntraced(function* (
  target: Fuzz.Target,
  { finds, messages = 8, revision = "2025-11-25" }: Faulty
) {
  const report = yield* Fuzz.run(target, {
    revisions: Revision.all.filter(({ version }) => version === revision),
    only: [finds.split(" ")[0] ?? finds],
    runs: scaled(600, 2000),
    time: "1 day",
    findings: 1,
    patience: 200
  })
  const found = report.findings.find(({ key, rule }) => key === finds || rule.name === finds)
  assert.isDefined(found, Fuzz.Report.text(report))
  const sent = found?.lines.filter(({ from }) => from === "client") ?? []
  assert.isAtMost(sent.length, messages, Fuzz.Report.conversation(found?.lines ?? []))
})
