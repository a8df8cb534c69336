/** Faults put in by hand, and the test that notices each. */
import type { Fault } from "@effect-mcp/spec/Fault"

const traffic = "packages/testing/test/fuzz/traffic.test.ts"
const cassette = "packages/testing/test/cassette/Cassette.test.ts"
const diff = "packages/testing/test/fuzz/diff.test.ts"
const torture = "packages/testing/test/torture/Torture.test.ts"
const simulation = "packages/testing/test/simulation/Simulation.test.ts"
const relay = "packages/testing/test/process/fuzz/relay.test.ts"
const clientCommand = "packages/testing/test/fuzz/clientCommand.test.ts"
const falseAlarms = "packages/testing/test/fuzz/falseAlarms.test.ts"
const reused = "packages/testing/test/fuzz/reused.test.ts"
const tasks = "packages/testing/test/fuzz/tasks.test.ts"
const stdioClient = "packages/testing/test/process/fuzz/stdioClient.test.ts"

export const faults: ReadonlyArray<Fault> = [
  {
    name: "a scripted user takes an action for the content of a form",
    file: "packages/testing/src/doubles/ElicitationTest.ts",
    from: '"action" in answer && isJsonObject(answer["content"])',
    to: "false",
    test: "packages/testing/test/doubles/Doubles.test.ts"
  },
  {
    name: "fuzz: a rule about a tool judges structured content alone",
    file: "packages/testing/src/fuzz/rules/ofTool.ts",
    from: "isJsonObject(value) ? StructuredContent.read(value) : undefined",
    to: 'at(value, "structuredContent")',
    test: "packages/testing/test/fuzz/ofTool.test.ts"
  },
  {
    name: "fuzz: a search goes on for as long as it takes after its time",
    file: "packages/testing/src/fuzz/Search.ts",
    from: "Effect.timeoutOption(work, this.end + overtime - this.now())",
    to: "work",
    test: "packages/testing/test/fuzz/time.test.ts"
  },
  {
    name: "fuzz: a server that ends between two conversations is not accused",
    file: "packages/testing/src/fuzz/target/reused.ts",
    from: 'event._tag === "Ended" && this.isIdle',
    to: 'event._tag === "Refused" && this.isIdle',
    test: reused
  },
  {
    name: "fuzz: the conversation of a server that ended between two is not silent at its end",
    file: "packages/testing/src/fuzz/ServerSearch.ts",
    from: ', { _tag: "Idle" }]',
    to: ', { _tag: "Wait" }]',
    test: reused
  },
  {
    name: "fuzz: what does not happen again is a finding",
    file: "packages/testing/src/fuzz/Search.ts",
    from: "best === undefined ? this.unconfirmed : this.findings",
    to: "this.findings",
    test: reused
  },
  {
    name: "fuzz: a finding that needs earlier conversations of its server is looked for without them",
    file: "packages/testing/src/fuzz/Search.ts",
    from: "alone ? shown : whole.script",
    to: "shown",
    test: reused
  },
  {
    name: "fuzz: a conversation continues a session whatever that was opened with",
    file: "packages/testing/src/fuzz/target/kinds.ts",
    from: " ${declaresOf(first)}",
    to: "",
    test: reused
  },
  {
    name: "fuzz: a flood that no session precedes meets a server that has started",
    file: "packages/testing/src/fuzz/target/kinds.ts",
    from: 'if (commands.some(({ _tag }) => _tag === "Flood")) return undefined',
    to: "",
    test: tasks
  },
  {
    name: "fuzz: a conversation continues a session of another version",
    file: "packages/testing/src/fuzz/target/kinds.ts",
    from: " && agreed === revision",
    to: "",
    test: reused
  },
  {
    name: "fuzz: a session is opened once more whatever its server holds",
    file: "packages/testing/src/fuzz/target/kinds.ts",
    from: "again.length > 0 ? isUnmarked : always",
    to: "always",
    test: reused
  },
  {
    name: "fuzz: a finding that needs several handshakes of a session is looked for with one",
    file: "packages/testing/src/fuzz/ServerSearch.ts",
    from: " && index === 0 ? {",
    to: " ? {",
    test: reused
  },
  {
    name: "fuzz: what a server says before its first conversation is dropped",
    file: "packages/testing/src/fuzz/target/reused.ts",
    from: "this.early.push(event)",
    to: "return",
    test: reused
  },
  {
    name: "fuzz: a server that ended before its first conversation has one",
    file: "packages/testing/src/fuzz/target/reused.ts",
    from: "early?.[0].isAlive === true ? early",
    to: "early !== undefined ? early",
    test: reused
  },
  {
    name: "fuzz: a copy of a request keeps its server from other conversations",
    file: "packages/testing/src/fuzz/model/Exchange.ts",
    from: "isCopy || answer",
    to: "answer",
    test: reused
  },
  {
    name: "fuzz: a session that is continued is opened again",
    file: "packages/testing/src/fuzz/Player.ts",
    from: " || command.continues === true",
    to: "",
    test: reused
  },
  {
    name: "fuzz: an answer to a copy of a request counts as one to the request after it",
    file: "packages/testing/src/fuzz/model/Model.ts",
    from: "(mayBeAnswered(before) || before.copies > 0)",
    to: "mayBeAnswered(before)",
    test: reused
  },
  {
    name: "fuzz: a client is held to a version that it was never told",
    file: "packages/testing/src/fuzz/client/ServerDouble.ts",
    from: 'if (asked.method === "initialize" && !act.resumable) this',
    to: 'if (asked.method === "" && !act.resumable) this',
    test: "packages/testing/test/fuzz/client.test.ts"
  },
  {
    name: "fuzz: an answer to a cancelled request counts as one to the request after it",
    file: "packages/testing/src/fuzz/model/Model.ts",
    from: "(mayBeAnswered(before) || before.copies > 0)",
    to: "(isOpen(before) || before.copies > 0)",
    test: reused
  },
  {
    name: "fuzzer: a flood is one request",
    file: "packages/testing/src/fuzz/Player.ts",
    from: "sent < command.count",
    to: "sent < 1",
    test: tasks
  },
  {
    name: "fuzzer: the end of a task is not remembered",
    file: "packages/testing/src/fuzz/model/TaskBook.ts",
    from: "known.ended ??= status",
    to: "known.ended = undefined",
    test: tasks
  },
  {
    name: "fuzzer: the progress of a task is to stop with the answer of its call",
    file: "packages/testing/src/fuzz/rules/progress.ts",
    from: " || becameTask(exchange)",
    to: "",
    test: "packages/everything/test/process/fuzz.test.ts"
  },
  {
    name: "fuzzer: a call with malformed params is to be refused because of its task",
    file: "packages/testing/src/fuzz/rules/tasks.ts",
    from: "wrongParams(exchange, model) !== undefined",
    to: "false",
    test: tasks
  },
  {
    name: "traffic: a request that is cancelled late counts as answered",
    file: "packages/testing/src/fuzz/traffic/Conversation.ts",
    from: "!isWaiting(exchange) || !this.isLate(sent.at)) return",
    to: "!isWaiting(exchange) || this.isLate(sent.at)) return",
    test: traffic
  },
  {
    name: "traffic: a stateless conversation never learns its revision",
    file: "packages/testing/src/fuzz/traffic/Conversation.ts",
    from: 'if (asked !== "initialize") return this.decide(asked)',
    to: 'if (asked !== "initialize") return',
    test: traffic
  },
  {
    name: "traffic: each session over HTTP counts as joined in the middle",
    file: "packages/testing/src/fuzz/traffic/HttpTraffic.ts",
    from: "if (isOpening(json)) return this.follow(false)",
    to: "if (isOpening(json)) return this.follow(true)",
    test: traffic
  },
  {
    name: "traffic: blank lines count as messages",
    file: "packages/testing/src/fuzz/model/lines.ts",
    from: 'if (line.trim() !== "") take(line)',
    to: "take(line)",
    test: "packages/testing/test/fuzz/lines.test.ts"
  },
  {
    name: "cassette: a response has the id of the recording",
    file: "packages/testing/src/cassette/Replay.ts",
    from: "{ ...message, id, ...named(message, id) }",
    to: "{ ...message, ...named(message, id) }",
    test: cassette
  },
  {
    name: "cassette: a response comes before the answers that it followed from",
    file: "packages/testing/src/cassette/Replay.ts",
    from: "each.owner?.came === false || each.after.some(({ came }) => !came)",
    to: "each.owner?.came === false",
    test: cassette
  },
  {
    name: "cassette: a request that was recorded once is replayed for ever",
    file: "packages/testing/src/cassette/Replay.ts",
    from: "    sent.came = true\n",
    to: "",
    test: cassette
  },
  {
    name: "cassette: an object that is named like a secret is written down",
    file: "packages/testing/src/cassette/redact.ts",
    from: "secret || (isSecret(name) && !(schema && isJsonObject(member)))",
    to: "isSecret(name) && !isJsonObject(member)",
    test: cassette
  },
  {
    name: "cassette: a message that is nested too deeply ends the recording",
    file: "packages/testing/src/cassette/redact.ts",
    from: "if (depth > deepest) {",
    to: "if (depth > Infinity) {",
    test: cassette
  },
  {
    name: "diff: the names of the servers count",
    file: "packages/testing/src/fuzz/diff/compare.ts",
    from: '"requestState", "serverInfo",',
    to: '"requestState",',
    test: diff
  },
  {
    name: "diff: what differs between two runs of one server counts",
    file: "packages/testing/src/fuzz/diff/Diff.ts",
    from: "if (fresh.length > 0) yield*",
    to: "if (fresh.length < 0) yield*",
    test: diff
  },
  {
    name: "diff: paths that are to be ignored count",
    file: "packages/testing/src/fuzz/diff/Diff.ts",
    from: "!isIgnored(each, ignore) && ",
    to: "",
    test: diff
  },
  {
    name: "torture: what happens twice is not seen",
    file: "packages/testing/src/torture/Ledger.ts",
    from: 'if (kind === "happened" && done.has(name)) twice.add(name)',
    to: 'if (kind === "called" && done.has(name)) twice.add(name)',
    test: torture
  },
  {
    name: "torture: scopes that a handler leaves open are not seen",
    file: "packages/testing/src/torture/play.ts",
    from: "if (stepper.open > 0)",
    to: "if (stepper.open > 99)",
    test: torture
  },
  {
    name: "torture: places that maxPlaces leaves out are not counted",
    file: "packages/testing/src/torture/table.ts",
    from: "struck === places",
    to: "struck <= places",
    test: torture
  },
  {
    name: "torture: faults that do not come count as tried",
    file: "packages/testing/src/torture/table.ts",
    from: "struck: count(({ struck }) => struck)",
    to: "struck: runs.length",
    test: torture
  },
  {
    name: "torture: a number of places that is no count is taken",
    file: "packages/testing/src/torture/Torture.ts",
    from: "most === Infinity || (Number.isInteger(most) && most >= 0)",
    to: "most <= Infinity || Number.isNaN(most)",
    test: torture
  },
  {
    name: "torture: deaths that were not tried are not counted",
    file: "packages/testing/src/torture/crashes.ts",
    from: "places: points }",
    to: "places: runs.length - 1 }",
    test: torture
  },
  {
    name: "fuzz: a batch counts where another revision is agreed on",
    file: "packages/testing/src/fuzz/rules/messages.ts",
    from: "        agreed === revision.version &&\n",
    to: "",
    test: falseAlarms
  },
  {
    name: "fuzz: a server may not wait for the answer to a question",
    file: "packages/testing/src/fuzz/rules/messages.ts",
    from: "        model.unanswered.size === 0\n",
    to: "        model.unanswered.size >= 0\n",
    test: "packages/examples/test/workspace/fuzz.test.ts"
  },
  {
    name: "fuzz: a GET before initialize counts",
    file: "packages/testing/src/fuzz/rules/httpSessions.ts",
    from: "        !call.isOpen ||\n",
    to: "",
    test: falseAlarms
  },
  {
    name: "fuzz: wrong headers count in a session that is ended",
    file: "packages/testing/src/fuzz/rules/httpSessions.ts",
    from: 'call.session !== "ended" || !call.right',
    to: 'call.session !== "ended"',
    test: falseAlarms
  },
  {
    name: "fuzz-client: a program whose conversation is over stays",
    file: "packages/testing/src/fuzz/client/relay.ts",
    from: "if (offer === undefined) return process.end()",
    to: "if (offer === undefined) return",
    test: relay
  },
  {
    name: "fuzz-client: a program outlives its conversation",
    file: "packages/testing/src/fuzz/client/relay.ts",
    from: "for (const { end } of this.running) end()",
    to: "for (const { exit } of this.running) exit(0)",
    test: relay
  },
  {
    name: "fuzz-client: a conversation can be guessed",
    file: "packages/testing/src/fuzz/client/relay.ts",
    from: "globalThis.crypto.randomUUID()",
    to: "`${offers.size + 1}`",
    test: relay
  },
  {
    name: "fuzz-client: a signal that ends a client is not seen",
    file: "packages/testing/src/fuzz/target/Target.ts",
    from: "String(cause)",
    to: '""',
    test: clientCommand
  },
  {
    name: "fuzz-client: the exit code of a client is taken for a signal",
    file: "packages/testing/src/fuzz/client/clientCommand.ts",
    from: "[...faults.values()].includes(code - 128)",
    to: "code > 128",
    test: clientCommand
  },
  {
    name: "cassette: the command of the server keeps its secrets",
    file: "packages/testing/src/cassette/Recorder.ts",
    from: "head(Redact.redactName(this.options.server))",
    to: "head(this.options.server)",
    test: cassette
  },
  {
    name: "cassette: names of fields keep their secrets",
    file: "packages/testing/src/cassette/redact.ts",
    from: "unique(clean(name), taken)",
    to: "unique(name, taken)",
    test: cassette
  },
  {
    name: "cassette: a hidden name of a field fits none",
    file: "packages/testing/src/cassette/difference.ts",
    from: "if (hidden.length === 0) return json",
    to: "if (hidden.length < 99) return json",
    test: cassette
  },
  {
    name: "torture: no question is dismissed",
    file: "packages/testing/src/torture/questions.ts",
    from: '["declined", "dismissed", "an error", "no answer"]',
    to: '["declined", "an error", "no answer"]',
    test: torture
  },
  {
    name: "torture: the death of a node leaves no traces in the ledger",
    file: "packages/testing/src/torture/crashes.ts",
    from: "found: audit(entries)",
    to: "found: audit([])",
    test: torture
  },
  {
    name: "simulation: a run ignores the decisions that it is given",
    file: "packages/testing/src/simulation/Decisions.ts",
    from: "(this.given.get(name) ?? 0)",
    to: "0",
    test: simulation
  },
  {
    name: "simulation: fibers of handlers that are left are not seen",
    file: "packages/testing/src/simulation/perform.ts",
    from: "if (running > 0) stage.fail",
    to: "if (running > 99) stage.fail",
    test: simulation
  },
  {
    name: "simulation: a check that must always hold is not asked",
    file: "packages/testing/src/simulation/wire.ts",
    from: "return Effect.as(checked, inbound)",
    to: "return Effect.succeed(inbound)",
    test: simulation
  },
  {
    name: "simulation: HTTP with SSE is Streamable HTTP",
    file: "packages/testing/src/simulation/httpWire.ts",
    from: "sse: SseEndpoint.layer }",
    to: "sse: RouterEndpoint.layer }",
    test: simulation
  },
  {
    name: "simulation: the client of HTTP with SSE speaks Streamable HTTP",
    file: "packages/testing/src/simulation/perform.ts",
    from: 'transport === "http" ?',
    to: "true ?",
    test: simulation
  },
  {
    name: "simulation: the clock of a run passes while a client over HTTP loads its parts",
    file: "packages/testing/src/simulation/perform.ts",
    from: ", httpParts.load]",
    to: "]",
    test: simulation
  },
  {
    name: "simulation: a program that fails behind a cut is a failure",
    file: "packages/testing/src/simulation/wire.ts",
    from: "      stage.cut.add(client)\n",
    to: "",
    test: simulation
  },
  {
    name: "simulation: a run without an end keeps what it holds",
    file: "packages/testing/src/simulation/perform.ts",
    from: "Effect.andThen(stage.driver.close)",
    to: "Effect.andThen(Effect.void)",
    test: simulation
  },
  {
    name: "fuzz-client: a server over stdio does not see the end of its input",
    file: "packages/testing/src/fuzz/client/LineDouble.ts",
    from: "seen.inputEnded = true",
    to: "seen.inputEnded = false",
    test: stdioClient
  },
  {
    name: "fuzz-client: a server that exits in the middle of a request seems to have ended as it should",
    file: "packages/testing/src/fuzz/client/LineDouble.ts",
    from: 'cut: () => this.end("broke", 1)',
    to: 'cut: () => this.end("exited", 1)',
    test: stdioClient
  },
  {
    name: "fuzz-client: findings with similar names have one file",
    file: "packages/testing/src/fuzz/Report.ts",
    from: "taken.has(free.toLowerCase())",
    to: "taken.has(key)",
    test: "packages/testing/test/fuzz/report.test.ts"
  }
]
