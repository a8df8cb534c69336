import { Revision } from "@effect-mcp/protocol"
import * as Fuzz from "@effect-mcp/fuzz/Fuzz"
import { Tool, Tools } from "@effect-mcp/core"
import { McpServer } from "@effect-mcp/server"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Schema } from "effect"
import { Model } from "../src/model/Model.ts"
import { unknown } from "../src/model/Survey.ts"
import { kindOf } from "../src/target/kinds.ts"
import { server } from "./server.ts"

type WireEvent = Parameters<Parameters<Fuzz.LineTarget["open"]>[0]>[0]

const stateless = Revision.all.filter(({ era }) => era === "stateless")
const most = 40

/**
 * Makes a target behave as over stdio: a server exits when its input ends, and is not used after its scope closed. `answer` changes the nth
 * line of a server, given how often it was initialized and the version first offered. `early` returns the first events of the nth server.
 */
const asProcess = (
  target: Fuzz.LineTarget,
  answer: (text: string, nth: number, initialized: number, offer: string) => string = (text) => text,
  early: (nth: number) => ReadonlyArray<WireEvent> = () => []
) => {
  let opened = 0
  let open = 0
  let most = 0
  const asStdio: Fuzz.LineTarget = {
    ...target,
    transport: "stdio",
    open: (receive, script) =>
      Effect.gen(function* () {
        opened++
        yield* Effect.acquireRelease(
          Effect.sync(() => open++),
          () => Effect.sync(() => open--)
        )
        let lines = 0
        let initialized = 0
        let offer = ""
        early(opened).forEach(receive)
        const wire = yield* target.open(
          (event) =>
            receive(
              event._tag === "Line" ? { ...event, text: answer(event.text, ++lines, initialized, offer) } : event
            ),
          script
        )
        const end = Effect.tap(wire.end, () => Effect.sync(() => receive({ _tag: "Ended", how: "it exited" })))
        const send = (line: string): void => {
          if (line.includes('"method":"initialize"')) {
            most = Math.max(most, ++initialized)
            offer ||= JSON.parse(line).params.protocolVersion
          }
          wire.send(line)
        }
        return { ...wire, send, end }
      })
  }
  return { target: asStdio, counts: () => ({ opened, open, most }) }
}

const search = Effect.fnUntraced(function* (
  target: Fuzz.LineTarget,
  revisions: ReadonlyArray<Revision.Revision>,
  options: Fuzz.Options
) {
  const surveys = yield* Fuzz.survey(target, { revisions })
  return yield* Fuzz.search(target, surveys, { time: "1 day", patience: 200, ...options })
})

/** Searches servers that exit between two conversations and, with `lasts`, whenever their client is silent after an answer. */
const leaving = Effect.fnUntraced(function* (lasts: boolean) {
  const target = yield* Fuzz.memory(server)
  const present = new Set<() => void>()
  const { target: process } = asProcess({
    ...target,
    open: (receive, script) =>
      Effect.gen(function* () {
        const leave = (): void => receive({ _tag: "Ended", how: "it exited" })
        present.add(leave)
        yield* Effect.addFinalizer(() => Effect.sync(() => present.delete(leave)))
        const answered = Deferred.makeUnsafe<void>()
        // Time only passes while the client waits in silence.
        const silence = Effect.andThen(Deferred.await(answered), Effect.sleep("1 second"))
        if (lasts) yield* Effect.forkScoped(Effect.andThen(silence, Effect.sync(leave)))
        const hear = (event: WireEvent): void => {
          Deferred.doneUnsafe(answered, Effect.void)
          receive(event)
        }
        return yield* target.open(hear, script)
      })
  })
  const options = { runs: 2, flood: 0, only: ["survives"] }
  return yield* search(process, stateless, {
    ...options,
    onProgress: ({ conversations }) => conversations === 1 && present.forEach((leave) => leave())
  })
})

describe("Servers reused across conversations", () => {
  it.effect("A server is started once for several sessionless conversations", () =>
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
      // The exit is also observed.
      const exits = report.rules.find(({ rule }) => rule.name === "exits")
      assert.isAtLeast(exits?.kept ?? 0, 100 / most - 1)
    })
  )

  it.effect("Conversations that open alike share a session, and others get their own server", () =>
    Effect.gen(function* () {
      const options = { runs: 100, time: "1 day", patience: 200 } as const
      const alone = yield* Fuzz.memory(server)
      const { counts, target } = asProcess(yield* Fuzz.memory(server))
      const surveys = yield* Fuzz.survey(target, { revisions: [Revision.latestStateful] })
      const before = counts().opened
      const report = yield* Fuzz.search(target, surveys, options)
      const { most, open, opened } = counts()
      assert.deepStrictEqual([report.findings, report.unconfirmed, report.conversations, open], [[], [], 100, 0])
      assert.isBelow(opened - before, 45)
      // Some conversations open twice.
      assert.strictEqual(most, 2)
      // The opening decides as often as with a separate server for each conversation.
      const expected = yield* Fuzz.search(alone, surveys, options)
      for (const name of ["version-other", "client-capabilities-respected", "nothing-before-initialized"]) {
        const [kept, own] = [report, expected].map(({ rules }) => rules.find(({ rule }) => rule.name === name)?.kept)
        assert.isAtLeast(kept ?? 0, 1)
        assert.strictEqual(kept, own, name)
      }
      const exits = report.rules.find(({ rule }) => rule.name === "exits-with-input")
      assert.isAtLeast(exits?.kept ?? 0, 5)
    })
  )

  it.effect("A finding that depends on earlier conversations in its session is shown with one handshake", () =>
    Effect.gen(function* () {
      const { target } = asProcess(yield* Fuzz.memory(server), (text, nth, initialized) =>
        nth < 30 || initialized > 1 ? text : text.replace('"jsonrpc":"2.0"', '"jsonrpc":"1.0"')
      )
      const options = { runs: 200, findings: 1, only: ["message-valid"] }
      const report = yield* search(target, [Revision.latestStateful], { ...options, flood: 0 })
      const [finding] = report.findings
      assert.strictEqual(finding?.again, Fuzz.confirmations, Fuzz.Report.text(report))
      assert.isAtLeast(finding?.lines.filter(({ from }) => from === "server").length ?? 0, 30)
      assert.lengthOf(finding?.lines.filter(({ text }) => text.includes('"method":"initialize"')) ?? [], 1)
    })
  )

  it.effect.each([
    ["never opened", (initialized: number) => initialized === 0],
    ["opened with another version", (_: number, offer: string) => offer === "1999-01-01"]
  ] as const)(
    "A finding that depends on a session that was %s is shown with its earlier conversations",
    ([, isWrong]) =>
      Effect.gen(function* () {
        const { target } = asProcess(yield* Fuzz.memory(server), (text, nth, initialized, offer) =>
          nth < 30 || !isWrong(initialized, offer) ? text : text.replace('"jsonrpc":"2.0"', '"jsonrpc":"1.0"')
        )
        const options = { runs: 600, findings: 1, only: ["message-valid"], flood: 0 }
        const report = yield* search(target, [Revision.latestStateful], options)
        const [finding] = report.findings
        assert.strictEqual(finding?.again, Fuzz.confirmations, Fuzz.Report.text(report))
        assert.isAtLeast(finding?.lines.filter(({ from }) => from === "server").length ?? 0, 30)
      })
  )

  it.effect("A session is reopened if the server holds nothing for its client, and a finding shows it", () =>
    Effect.gen(function* () {
      const Add = Tool.make("add", { description: "Adds.", input: { a: Schema.Finite, b: Schema.Finite } })
      const features = Tools.layer(Add, ({ a, b }) => Effect.succeed(`${a + b}`))
      const plain = McpServer.layer({ name: "plain", version: "1.0.0", features })
      const { target } = asProcess(yield* Fuzz.memory(plain), (text, _, initialized) =>
        initialized < 3 ? text : text.replace('"jsonrpc":"2.0"', '"jsonrpc":"1.0"')
      )
      const options = { runs: 2000, findings: 1, only: ["message-valid"], flood: 0 }
      const [finding] = (yield* search(target, [Revision.latestStateful], options)).findings
      assert.strictEqual(finding?.again, Fuzz.confirmations)
    })
  )

  it("A session is not reopened if its client has set a level", () => {
    const revision = Revision.latestStateful.version
    const kind = kindOf({ revision, commands: [{ _tag: "Open" }, { _tag: "Open" }] })
    const model = new Model(unknown(revision))
    assert.strictEqual(kind?.isSuited(model), true)
    model.level = "error"
    assert.strictEqual(kind?.isSuited(model), false)
  })

  it.effect("A session with another version than its conversation's is not continued", () =>
    Effect.gen(function* () {
      const { target } = asProcess(yield* Fuzz.memory(server), (text, nth, _, offer) =>
        nth < 30 || offer !== "1999-01-01" ? text : text.replace('"jsonrpc":"2.0"', '"jsonrpc":"1.0"')
      )
      const revisions = Revision.all.filter(({ version }) => version === "2025-06-18")
      const report = yield* search(target, revisions, { runs: 200, only: ["message-valid"], flood: 0 })
      assert.deepStrictEqual([report.findings, report.unconfirmed], [[], []])
    })
  )

  it.effect("Server output before the first conversation is judged as part of it", () =>
    Effect.gen(function* () {
      const banner = [{ _tag: "Line", text: "Server is running" }] as const
      const { target } = asProcess(yield* Fuzz.memory(server), undefined, () => banner)
      const report = yield* search(target, [Revision.latestStateful], { runs: 20, only: ["stdout-only-messages"] })
      assert.strictEqual(report.rules[0]?.broken, 20)
      assert.deepStrictEqual(
        report.findings.map(({ again }) => again),
        [Fuzz.confirmations]
      )
    })
  )

  it.effect("A server that exits before its first conversation is not blamed on that conversation", () =>
    Effect.gen(function* () {
      let ended = 0
      const gone = [{ _tag: "Ended", how: "it exited" }] as const
      const { target } = asProcess(yield* Fuzz.memory(server), undefined, (nth) => {
        if (nth % 3 !== 0) return []
        ended++
        return gone
      })
      const report = yield* search(target, [Revision.latestStateful], { runs: 60, flood: 0 })
      assert.deepStrictEqual([report.findings, report.unconfirmed, report.conversations], [[], [], 60])
      assert.isAtLeast(ended, 2)
    })
  )

  it.effect("Reports a server that repeatedly exits between conversations", () =>
    Effect.gen(function* () {
      const [finding] = (yield* leaving(true)).findings
      assert.deepStrictEqual([finding?.key, finding?.again], ["survives idle", Fuzz.confirmations])
      assert.deepStrictEqual(
        finding?.script.commands.map(({ _tag }) => _tag),
        ["Request", "Idle"]
      )
    })
  )

  it.effect("A server that exits between conversations only once is not accused", () =>
    Effect.gen(function* () {
      const { findings, unconfirmed } = yield* leaving(false)
      assert.deepStrictEqual(findings, [])
      assert.deepStrictEqual(
        unconfirmed.map(({ key }) => key),
        ["survives idle"]
      )
    })
  )

  it.effect("A continued session is not reopened, and its client can answer differently", () =>
    Effect.gen(function* () {
      const target = yield* Fuzz.memory(server)
      const [survey] = yield* Fuzz.survey(target, { revisions: [Revision.latestStateful] })
      assert.isDefined(survey)
      const ask = { _tag: "Request", method: "tools/call", params: { name: "greet" } } as const
      const commands: Fuzz.Script["commands"] = [
        { _tag: "Open", declares: ["elicitation"] },
        ask,
        { _tag: "Wait" },
        { _tag: "Open", declares: ["elicitation"], answers: "decline", continues: true },
        ask
      ]
      const { found, lines } = yield* Fuzz.play(
        target,
        survey,
        { revision: survey.revision, commands },
        { rules: Fuzz.rules }
      )
      assert.deepStrictEqual(found, [])
      const sent = lines.filter(({ from }) => from === "client").map(({ text }) => text)
      assert.lengthOf(
        sent.filter((text) => text.includes('"method":"initialize"')),
        1
      )
      const actions = sent.flatMap((text) => /"action":"(\w+)"/.exec(text)?.[1] ?? [])
      assert.deepStrictEqual(actions, ["accept", "decline"])
    })
  )

  it.effect("A request is not treated as answered by an unanswered duplicate of its id", () =>
    Effect.gen(function* () {
      const twin = { _tag: "Request", method: "ping", id: "twin" } as const
      const copies = yield* Fuzz.memory(server)
      let came = 0
      // Answers the first request with the second one, and both others with the third.
      const slow: Fuzz.LineTarget = {
        ...copies,
        open: (receive) =>
          Effect.sync(() => ({
            send: (line) => {
              const answer = () => receive({ _tag: "Line", text: '{"jsonrpc":"2.0","id":"twin","result":{}}' })
              if (!line.includes("twin")) return
              came++
              if (came > 1) answer()
              if (came === 3) answer()
            },
            end: Effect.void
          }))
      }
      const [survey] = yield* Fuzz.survey(copies, { revisions: [Revision.latestStateful] })
      assert.isDefined(survey)
      const script = { revision: survey.revision, commands: [twin, twin, twin] }
      const rules = Fuzz.rules.filter(({ name }) => name === "answer-once")
      const { found } = yield* Fuzz.play(slow, survey, script, { rules, patience: 100 })
      assert.deepStrictEqual(found, [])
    })
  )

  it.effect("A conversation whose requests share an answered id ends cleanly", () =>
    Effect.gen(function* () {
      const target = yield* Fuzz.memory(server)
      const [survey] = yield* Fuzz.survey(target, { revisions: [Revision.latestStateful] })
      assert.isDefined(survey)
      const twin = { _tag: "Request", method: "ping", id: "twin" } as const
      let kept = 0
      const keep = () => {
        kept++
        return true
      }
      const early: Array<string> = []
      // The server receives both at once.
      const keeping: Fuzz.LineTarget = {
        ...target,
        open: (receive) =>
          Effect.map(target.open(receive), (wire) => ({
            ...wire,
            keep,
            send: (line) => {
              if (!line.includes("twin")) return wire.send(line)
              early.push(line)
              if (early.length === 2) early.forEach(wire.send)
            }
          }))
      }
      const script = { revision: survey.revision, commands: [{ _tag: "Open" }, twin, twin] } as const
      const { found, lines } = yield* Fuzz.play(keeping, survey, script, { rules: Fuzz.rules })
      assert.deepStrictEqual([found, kept], [[], 1])
      assert.lengthOf(
        lines.filter(({ from, text }) => from === "server" && text.includes('"twin"')),
        2
      )
    })
  )

  it.effect("A request is not treated as answered by an earlier cancelled request with its id", () =>
    Effect.gen(function* () {
      const lists = yield* Fuzz.memory(server)
      const answers = ['"result":{"tools":[]}', '"error":{"code":-32601,"message":"Method not found"}']
      // Answers neither before both have arrived.
      const slow: Fuzz.LineTarget = {
        ...lists,
        open: (receive) =>
          Effect.sync(() => ({
            send: (line) => {
              if (!line.includes('"method":"ping"')) return
              for (const answer of answers) receive({ _tag: "Line", text: `{"jsonrpc":"2.0","id":"twin",${answer}}` })
            },
            end: Effect.void
          }))
      }
      const [survey] = yield* Fuzz.survey(lists, { revisions: [Revision.latestStateful] })
      assert.isDefined(survey)
      const commands: Fuzz.Script["commands"] = [
        { _tag: "Request", method: "tools/list", id: "twin" },
        { _tag: "Cancel", which: "newest" },
        { _tag: "Request", method: "ping", id: "twin" }
      ]
      const rules = Fuzz.rules.filter(({ name }) => name === "answer-once")
      const { found, lines } = yield* Fuzz.play(
        slow,
        survey,
        { revision: survey.revision, commands },
        { rules, patience: 100 }
      )
      assert.lengthOf(
        lines.filter(({ from }) => from === "server"),
        2
      )
      assert.deepStrictEqual(found, [])
    })
  )

  it.effect("The fuzzer finds faults that depend on earlier conversations, and shows all that are needed", () =>
    Effect.gen(function* () {
      const late = 12
      // From this line on, every message has another protocol version.
      const { target } = asProcess(yield* Fuzz.memory(server), (text, nth) =>
        nth < late ? text : text.replace('"jsonrpc":"2.0"', '"jsonrpc":"1.0"')
      )
      const report = yield* search(target, stateless, { runs: 200, findings: 1, only: ["message-valid"], flood: 0 })
      const [finding] = report.findings
      assert.strictEqual(finding?.rule.name, "message-valid", Fuzz.Report.text(report))
      assert.strictEqual(finding?.again, Fuzz.confirmations)
      assert.isAtLeast(finding?.lines.filter(({ from }) => from === "server").length ?? 0, late)
    })
  )

  it.effect("The fuzzer shows no earlier conversations if the finding does not depend on them", () =>
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
