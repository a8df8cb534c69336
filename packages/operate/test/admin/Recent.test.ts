import { Tool, Tools } from "@effect-mcp/core"
import { anonymous } from "@effect-mcp/core/Principal"
import { Admin } from "@effect-mcp/operate"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as McpTest from "@effect-mcp/testing/McpTest"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Exit, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { merged, type NodeRecord, RecentRecorder, type Sample } from "../../src/admin/Recent.ts"

const Slow = Tool.make("slow", { description: "Takes two seconds" })
const Fails = Tool.make("fails", { description: "Fails" })
const features = Layer.mergeAll(
  Tools.layer(Slow, () => Effect.as(Effect.sleep("2 seconds"), "done")),
  Tools.layer(Fails, () => Effect.fail(new Tools.ToolFailure({ message: "the password is swordfish" })))
)

const recording = Effect.map(Clock.Clock, (clock) => new RecentRecorder(clock))

/** Records a call that failed. */
const ended = ({ observer }: RecentRecorder, name: string, error = McpError.internalError()): void =>
  observer.request?.(
    {
      request: { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name } },
      envelope: {},
      principal: anonymous,
      session: undefined,
      transport: "http",
      revision: "2026-07-28",
      arrived: 0,
      waited: 0,
      duration: 1,
      interrupted: undefined
    },
    Exit.fail(error)
  )

describe("Recent", () => {
  it.effect("There is one sample a second, for at most 15 minutes", () =>
    Effect.gen(function* () {
      const { recent } = yield* Admin.History
      const client = yield* McpTest.connect(features, "2025-11-25")
      yield* TestClock.adjust("1 second")
      yield* Effect.forkChild(client.callToolByName("slow"), { startImmediately: true })
      yield* TestClock.adjust("5 seconds")
      const [first, ...more] = recent(0).samples
      assert.deepInclude(first, { time: 1000, sessions: 1, running: 0 })
      assert.sameMembers([...new Set(more.map(({ running }) => running))], [0, 1])
      assert.strictEqual(
        more.reduce((sum, { calls }) => sum + calls, 0),
        1
      )
      assert.lengthOf(recent(4000).samples, 2)
      yield* TestClock.adjust("20 minutes")
      assert.lengthOf(recent(0).samples, 900)
    }).pipe(Effect.scoped, Effect.provide(Admin.layerHistory()))
  )

  it.effect("Tools have their calls, failures and durations, and unknown names count together", () =>
    Effect.gen(function* () {
      const { recent } = yield* Admin.History
      const client = yield* McpTest.connect(features, "2025-11-25")
      const call = yield* Effect.forkChild(client.callToolByName("slow"), { startImmediately: true })
      yield* TestClock.adjust("2 seconds")
      yield* Fiber.join(call)
      yield* client.callToolByName("fails")
      for (const name of ["no-such-tool", "another"]) yield* Effect.exit(client.callToolByName(name))
      const record = recent(0)
      const { problems, tools } = merged([{ node: "a", record }], 2000)
      const of = (wanted: string) => tools.find(({ name }) => name === wanted)
      assert.deepInclude(of("slow"), { calls: 1, failures: 0, last: undefined })
      assert.isBelow(Math.abs((of("slow")?.p95 ?? 0) - 2000), 200)
      assert.deepInclude(of("fails"), { calls: 1, failures: 1 })
      assert.strictEqual(of("fails")?.last?.outcome, "tool_failed")
      assert.deepInclude(of("(other)"), { calls: 2, failures: 2 })
      assert.lengthOf(tools, 3)
      assert.deepStrictEqual(
        problems.map(({ code, kind, node, target }) => [kind, target, code, node]),
        [
          ["failed", "fails", undefined, "a"],
          ["failed", "no-such-tool", -32602, "a"],
          ["failed", "another", -32602, "a"]
        ]
      )
      // The text of an error may contain arguments.
      assert.notInclude(JSON.stringify(record), "swordfish")
    }).pipe(Effect.scoped, Effect.provide(Admin.layerHistory()))
  )

  it.effect("A server without tools keeps no tool names of its clients", () =>
    Effect.gen(function* () {
      const recorder = yield* recording
      ended(recorder, "no-such-tool", McpError.methodNotFound("tools/call"))
      assert.deepStrictEqual(
        recorder.read(0).tools.map(({ name }) => name),
        ["(other)"]
      )
    })
  )

  it.effect("Tools that are no longer called make room for others", () =>
    Effect.gen(function* () {
      const recorder = yield* recording
      for (let at = 0; at < 300; at++) ended(recorder, `old-${at}`)
      assert.lengthOf(recorder.read(0).tools, 201)
      yield* TestClock.adjust("16 minutes")
      ended(recorder, "new")
      assert.deepStrictEqual(
        recorder.read(0).tools.map(({ last, name }) => [name, last?.outcome]),
        [["new", "failed"]]
      )
    })
  )

  it.effect("Requests without a token do not displace other problems", () =>
    Effect.gen(function* () {
      const recorder = yield* recording
      ended(recorder, "book")
      for (let at = 0; at < 1000; at++) {
        recorder.observer.refused?.({ method: "POST", status: 401, principal: undefined, address: "192.0.2.1" })
      }
      const { problems } = recorder.read(0)
      assert.strictEqual(problems[0]?.target, "book")
      assert.lengthOf(problems, 101)
    })
  )

  it("Samples from several nodes are added up for each complete second", () => {
    const sample = (time: number, more: Partial<Sample> = {}): Sample => {
      return { time, sessions: 1, running: 2, pending: 0, questions: 0, calls: 3, failures: 1, ...more }
    }
    const record = (samples: ReadonlyArray<Sample>): NodeRecord => ({ samples, tools: [], problems: [] })
    const { samples } = merged(
      [
        { node: "a", record: record([sample(1100), sample(2100), sample(3100)]) },
        { node: "b", record: record([sample(1900, { p95: 5 }), sample(2900)]) }
      ],
      3500
    )
    assert.deepStrictEqual(samples, [
      { time: 1900, sessions: 2, running: 4, pending: 0, questions: 0, calls: 6, failures: 2, p95: 5 },
      { time: 2900, sessions: 2, running: 4, pending: 0, questions: 0, calls: 6, failures: 2 }
    ])
  })

  it("A tool's durations on several nodes are merged", () => {
    const record = (durations: ReadonlyArray<readonly [number, number]>): NodeRecord => ({
      samples: [],
      tools: [{ name: "book", calls: 10, failures: 1, lately: 3, durations }],
      problems: []
    })
    const all = [
      { node: "a", record: record([[20, 10]]) },
      { node: "b", record: record([[60, 10]]) }
    ]
    const [book] = merged(all, 60_000).tools
    assert.deepInclude(book, { calls: 20, failures: 2, perMinute: 6 })
    assert.isBelow(book?.p50 ?? Infinity, 5)
    assert.isAbove(book?.p95 ?? 0, 1000)
  })
})
