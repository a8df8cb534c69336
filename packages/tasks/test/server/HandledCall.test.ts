/** Calls of clients without tasks: their result within the time limit, or a handle. */
import { CancelReason, Elicitation, Once, Progress, Tool, Tools } from "@effect-mcp/core"
import * as McpError from "@effect-mcp/protocol/McpError"
import { quiesce } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Layer, Queue, Schema } from "effect"
import { TestClock } from "effect/testing"
import * as Tasks from "../../src/Tasks.ts"
import * as Client from "../support/client.ts"
import { connectStateful, connectStateless, followed, hosts, nextInText, nextOf, within } from "../support/host.ts"
import { tool } from "../support/tools.ts"

const handles = { answerWithin: "15 seconds" } as const
const layer = Tasks.layer({ handles })
const start = <A, E, R>(call: Effect.Effect<A, E, R>) => Effect.forkChild(call, { startImmediately: true })

const reportOf = (task: "optional" | "required") =>
  Tool.make("report", {
    description: "Writes a report",
    input: { topic: Schema.String },
    output: { pages: Schema.Int },
    task
  })
const pages = { pages: 12 }
/** A tool that takes three minutes, and counts its runs. */
const report = (task: "optional" | "required" = "optional") => {
  const ran = { runs: 0 }
  const features = Tools.layer(reportOf(task), ({ topic }) =>
    Effect.gen(function* () {
      ran.runs++
      yield* Progress.report(1, { message: `Reading about ${topic}` })
      yield* Effect.sleep("3 minutes")
      return pages
    })
  )
  return { features, ran }
}
const confirm = Elicitation.form("Sure?", Schema.Struct({ ok: Schema.Boolean }))
const asking = (more: Partial<Tools.Options> = {}) =>
  tool("ask", "optional", () => Effect.map(confirm, ({ ok }) => String(ok)), more)

describe.each(hosts)("Clients without tasks in $version", ({ open, version }) => {
  it.effect.each(["optional", "required"] as const)(
    "A model with a 20 second limit finishes a three minute tool that is %s as a task",
    (task) =>
      Effect.gen(function* () {
        const { features, ran } = report(task)
        const { call } = yield* open(Layer.merge(features, layer))
        const results = yield* followed(within(20_000, call), "report", { args: { topic: "tea" } })
        const last = results.at(-1)
        assert.deepStrictEqual(last?.["content"], [{ type: "text", text: JSON.stringify(pages) }])
        if (version >= "2025-06-18") assert.deepStrictEqual(last?.["structuredContent"], pages)
        assert.strictEqual(ran.runs, 1)
        // 15 seconds per call: the call itself, eleven or twelve calls of tasks_status, and tasks_result.
        assert.isAtMost(results.length, 14)
      })
  )

  it.effect("A model that only reads text can finish a long-running call", () =>
    Effect.gen(function* () {
      const { features } = report()
      const { call } = yield* open(Layer.merge(features, layer))
      const options = { args: { topic: "tea" }, read: nextInText }
      const results = yield* followed(within(20_000, call), "report", options)
      assert.include(results[0]?.["content"][0].text, "Reading about tea")
      assert.deepStrictEqual(results.at(-1)?.["content"], [{ type: "text", text: JSON.stringify(pages) }])
    })
  )

  it.effect("A call that ends in time returns the same result as on a server without handles", () =>
    Effect.gen(function* () {
      const quick = Tools.layer(reportOf("optional"), () => Effect.as(Effect.sleep("14 seconds"), pages))
      const failing = tool("failing", "optional", () => new Tools.ToolFailure({ message: "No" }))
      const results: Array<unknown> = []
      for (const tasks of [layer, Tasks.layer()]) {
        const { call } = yield* open(Layer.mergeAll(quick, failing, tasks))
        const calling = within(20_000, call)
        results.push([yield* calling("report", { topic: "tea" }), yield* calling("failing", {})])
      }
      assert.deepStrictEqual(results[0], results[1])
    })
  )

  it.effect("A call that fails with a JSON-RPC error fails with the same error", () =>
    Effect.gen(function* () {
      const error = new McpError.McpError({ code: -31_000, message: "Never", data: { why: 1 } })
      const { call } = yield* open(
        Layer.merge(
          tool("refusing", "optional", () => Effect.fail(error)),
          layer
        )
      )
      const failed = yield* Effect.flip(call("refusing", {}))
      assert(failed instanceof McpError.McpError)
      assert.deepStrictEqual([failed.code, failed.message, failed.data], [-31_000, "Never", { why: 1 }])
    })
  )

  it.effect("A cancelled call cancels its task, because nobody has received its id", () =>
    Effect.gen(function* () {
      const reason = yield* Deferred.make<string | undefined>()
      const waiting = tool("wait", "optional", () =>
        Effect.onExit(Effect.never, (exit) =>
          Deferred.succeed(reason, Exit.isFailure(exit) ? CancelReason.of(exit.cause) : "none")
        )
      )
      const { call } = yield* open(Layer.merge(waiting, layer))
      const calling = yield* start(call("wait", {}))
      yield* quiesce
      yield* Fiber.interrupt(calling)
      assert.strictEqual(yield* Deferred.await(reason), "The task was cancelled")
    })
  )

  it.effect("A question that the client did not declare fails as in an ordinary call", () =>
    Effect.gen(function* () {
      const failures: Array<unknown> = []
      for (const tasks of [layer, Tasks.layer()]) {
        const { call } = yield* open(Layer.merge(asking(), tasks), { asks: false })
        const exit = yield* Effect.exit(call("ask", {}))
        failures.push(Exit.isSuccess(exit) ? exit.value : String(exit.cause))
      }
      assert.deepStrictEqual(failures[0], failures[1])
    })
  )
})

describe("Questions to a client without tasks", () => {
  it.effect("A client with a session is asked during the call, which then returns its result", () =>
    Effect.gen(function* () {
      const { call, session } = yield* connectStateful(yield* Client.serve(Layer.merge(asking(), layer)), "2025-11-25")
      const calling = yield* start(call("ask", {}))
      const { answer, params } = yield* session.nextAsked
      assert.strictEqual(params.message, "Sure?")
      // The user may take longer than the call otherwise would.
      yield* TestClock.adjust("1 minute")
      assert.isUndefined(calling.pollUnsafe())
      yield* answer({ action: "accept", content: { ok: true } })
      assert.deepStrictEqual((yield* Fiber.join(calling))["content"], [{ type: "text", text: "true" }])
    })
  )

  it.effect("A client without sessions receives a handle first and is asked in rounds", () =>
    Effect.gen(function* () {
      const runs: Array<string> = []
      const twice = tool("ask", "optional", () =>
        Effect.gen(function* () {
          runs.push("start")
          const first = yield* confirm
          const second = yield* Elicitation.form("Really?", Schema.Struct({ ok: Schema.Boolean }), { key: "really" })
          return `${first.ok} ${second.ok}`
        })
      )
      const { call, client } = yield* connectStateless(yield* Client.serve(Layer.merge(twice, layer)))
      const handle = yield* call("ask", {})
      assert.strictEqual(handle["structuredContent"].status, "input_required")
      assert.include(handle["content"][0].text, "has a question for the user. To ask it, call tasks_status with")
      const params = { name: "tasks_status", arguments: nextOf(handle)?.arguments ?? {} }
      let result = yield* client.request("tools/call", params)
      const messages: Array<string> = []
      while (result["resultType"] === "input_required") {
        const { inputRequests, requestState } = result
        const answers = Object.entries<any>(inputRequests).map(([key, { params }]) => {
          messages.push(params.message)
          return [key, { action: "accept", content: { ok: true } }]
        })
        const inputResponses = Object.fromEntries(answers)
        result = yield* client.request("tools/call", { ...params, requestState, inputResponses })
      }
      assert.deepStrictEqual(messages, ["Sure?", "Really?"])
      const { tool: name, arguments: args } = nextOf(result) ?? assert.fail("The task has not ended")
      assert.deepStrictEqual((yield* call(name, args))["content"], [{ type: "text", text: "true true" }])
      assert.deepStrictEqual(runs, ["start"])
    })
  )
})

describe("Handlers that decide when a call becomes a task", () => {
  it.effect("Questions before `begin` are asked in the request, and the task continues after them", () =>
    Effect.gen(function* () {
      const ran: Array<string> = []
      const begun = yield* Deferred.make<void>()
      const begins = tool(
        "publish",
        "optional",
        () =>
          Effect.gen(function* () {
            yield* Once.run(
              "build",
              Schema.String,
              Effect.sync(() => `${ran.push("build")}`)
            )
            yield* confirm
            yield* Tasks.begin
            ran.push("begun")
            yield* Deferred.succeed(begun, undefined)
            yield* Effect.sleep("1 minute")
            return "Published"
          }),
        { beginsTask: true }
      )
      const { client } = yield* connectStateless(yield* Client.serve(Layer.merge(begins, layer)))
      const params = { name: "publish", arguments: {} }
      const { inputRequests, requestState } = yield* client.request("tools/call", params)
      const [key = ""] = Object.keys(inputRequests)
      const inputResponses = { [key]: { action: "accept", content: { ok: true } } }
      const again = client.request("tools/call", { ...params, requestState, inputResponses })
      const calling = yield* Effect.forkChild(again, { startImmediately: true })
      // Decrypting the state takes real time.
      yield* Deferred.await(begun)
      const results = yield* followed(
        within(20_000, (name, args) => (name === "publish" ? Fiber.join(calling) : client.call(name, args))),
        "publish"
      )
      assert.deepStrictEqual(results.at(-1)?.["content"], [{ type: "text", text: "Published" }])
      assert.deepStrictEqual(ran, ["build", "begun"])
    })
  )

  it.effect("A call that ends before `begin` returns its result", () =>
    Effect.gen(function* () {
      const inline = tool("hello", "required", () => Effect.succeed("Hello"), { beginsTask: true })
      const { call } = yield* connectStateless(yield* Client.serve(Layer.merge(inline, layer)))
      assert.deepStrictEqual((yield* call("hello", {}))["content"], [{ type: "text", text: "Hello" }])
    })
  )
})

it.effect("Progress reaches the client until the call is answered", () =>
  Effect.gen(function* () {
    const steps = yield* Queue.unbounded<number>()
    const working = tool("work", "optional", () =>
      Effect.gen(function* () {
        for (;;) yield* Progress.report(yield* Queue.take(steps), { total: 9 })
      })
    )
    const server = yield* Client.serve(Layer.merge(working, layer))
    const { session } = yield* connectStateful(server, "2025-06-18")
    const params = { name: "work", arguments: {}, _meta: { progressToken: "p" } }
    const calling = yield* start(session.request("tools/call", params))
    yield* Queue.offer(steps, 1)
    yield* quiesce
    yield* TestClock.adjust("15 seconds")
    assert.strictEqual((yield* Fiber.join(calling))["structuredContent"].status, "working")
    yield* Queue.offer(steps, 2)
    yield* quiesce
    const progress = session.notes.map(({ method, params }) => [method, params.progress, params.total])
    assert.deepStrictEqual(progress, [["notifications/progress", 1, 9]])
  })
)

it.effect("A call that requests a task gets one even if its client declared none", () =>
  Effect.gen(function* () {
    const server = yield* Client.serve(Layer.merge(report().features, layer))
    const { session } = yield* connectStateful(server, "2025-11-25")
    const { task } = yield* session.request("tools/call", { name: "report", arguments: { topic: "tea" }, task: {} })
    assert.strictEqual(task.status, "working")
  })
)

it.effect("A client that declares tasks receives no handles", () =>
  Effect.gen(function* () {
    const { features } = report()
    const server = yield* Client.serve(Layer.merge(features, layer))
    const modern = yield* Client.connect(server)
    assert.strictEqual((yield* modern.call("report", { topic: "tea" }))["resultType"], "task")
    const { session } = yield* connectStateful(server, "2025-11-25", { tasks: true })
    const inline = yield* start(session.request("tools/call", { name: "report", arguments: { topic: "tea" } }))
    yield* TestClock.adjust("1 minute")
    assert.isUndefined(inline.pollUnsafe())
    yield* TestClock.adjust("2 minutes")
    assert.deepStrictEqual((yield* Fiber.join(inline))["structuredContent"], pages)
  })
)
