import { Revision } from "@effect-mcp/protocol"
import * as Fuzz from "@effect-mcp/testing/Fuzz"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { server } from "./server.ts"

const stateless = Revision.all.filter(({ era }) => era === "stateless")
const most = 20

/** A target as over stdio: a server ends with its input, and none is used once its scope is closed. `answer` is what comes of the nth line. */
const asProcess = (target: Fuzz.LineTarget, answer: (text: string, nth: number) => string = (text) => text) => {
  let opened = 0
  let open = 0
  const asStdio: Fuzz.LineTarget = {
    ...target,
    transport: "stdio",
    open: (receive) =>
      Effect.gen(function* () {
        opened++
        yield* Effect.acquireRelease(
          Effect.sync(() => open++),
          () => Effect.sync(() => open--)
        )
        let lines = 0
        const wire = yield* target.open((event) =>
          receive(event._tag === "Line" ? { ...event, text: answer(event.text, ++lines) } : event)
        )
        const end = Effect.tap(wire.end, () => Effect.sync(() => receive({ _tag: "Ended", how: "it exited" })))
        return { ...wire, end }
      })
  }
  return { target: asStdio, counts: () => ({ opened, open }) }
}

const search = Effect.fnUntraced(function* (
  target: Fuzz.LineTarget,
  revisions: ReadonlyArray<Revision.Revision>,
  options: Fuzz.Options
) {
  const surveys = yield* Fuzz.survey(target, { revisions })
  return yield* Fuzz.search(target, surveys, { time: "1 day", patience: 200, ...options })
})

describe("servers that have several conversations", () => {
  it.effect("The fuzzer starts a server for several conversations without sessions", () =>
    Effect.gen(function* () {
      const { counts, target } = asProcess(yield* Fuzz.memory(server))
      const surveys = yield* Fuzz.survey(target, { revisions: stateless })
      const before = counts().opened
      const report = yield* Fuzz.search(target, surveys, { runs: 100, time: "1 day", patience: 200 })
      const { open, opened } = counts()
      assert.deepStrictEqual([report.findings, report.unconfirmed], [[], []])
      assert.strictEqual(report.conversations, 100)
      assert.isBelow(opened - before, 40)
      assert.isAtLeast(opened - before, 100 / most)
      assert.strictEqual(open, 0)
      // Its end is seen, too.
      const exits = report.rules.find(({ rule }) => rule.name === "exits")
      assert.isAtLeast(exits?.kept ?? 0, 100 / most - 1)
    })
  )

  it.effect("The fuzzer starts a server for each conversation with a session", () =>
    Effect.gen(function* () {
      const { counts, target } = asProcess(yield* Fuzz.memory(server))
      const surveys = yield* Fuzz.survey(target, { revisions: [Revision.latestStateful] })
      const before = counts().opened
      yield* Fuzz.search(target, surveys, { runs: 30, time: "1 day", patience: 200 })
      assert.strictEqual(counts().opened - before, 30)
    })
  )

  it.effect(
    "The fuzzer finds what only a server does that had other conversations before, and shows all that it needs",
    () =>
      Effect.gen(function* () {
        const late = 30
        // From this line on, every message is of another protocol.
        const { target } = asProcess(yield* Fuzz.memory(server), (text, nth) =>
          nth < late ? text : text.replace('"jsonrpc":"2.0"', '"jsonrpc":"1.0"')
        )
        const report = yield* search(target, stateless, { runs: 200, findings: 1, only: ["message-valid"] })
        const [finding] = report.findings
        assert.strictEqual(finding?.rule.name, "message-valid", Fuzz.Report.text(report))
        assert.strictEqual(finding?.again, Fuzz.confirmations)
        assert.isAtLeast(finding?.lines.filter(({ from }) => from === "server").length ?? 0, late)
      })
  )

  it.effect("The fuzzer shows no conversation of a server before it where the finding needs none", () =>
    Effect.gen(function* () {
      const { target } = asProcess(yield* Fuzz.memory(server), (text) =>
        text.includes("Unknown tool") ? text.replace('"jsonrpc":"2.0"', '"jsonrpc":"1.0"') : text
      )
      const report = yield* search(target, stateless, { runs: 200, findings: 1, only: ["message-valid"] })
      const [finding] = report.findings
      assert.strictEqual(finding?.again, Fuzz.confirmations)
      assert.isAtMost(finding?.script.commands.length ?? 0, 2)
    })
  )
})
