/** The tools that follow tasks, for clients without tasks. */
import { Elicitation, Progress, Tool, Tools } from "@effect-mcp/core"
import { quiesce } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Layer, Schema } from "effect"
import { TestClock } from "effect/testing"
import * as Tasks from "../../src/Tasks.ts"
import * as Client from "../support/client.ts"
import { connectStateful, connectStateless, hosts, nextOf } from "../support/host.ts"
import { tool } from "../support/tools.ts"

const start = <A, E, R>(call: Effect.Effect<A, E, R>) => Effect.forkChild(call, { startImmediately: true })
const handles = { answerWithin: "1 second" } as const
const layer = Tasks.layer({ handles })
const waiting = tool("wait", "optional", () => Effect.never)
const named = (subject: string) => ({ subject, scopes: [], claims: {} })
const textOf = (result: Client.Seen): string => result["content"][0].text

/** Starts a call, and returns its handle's task. */
const started = <E>(call: (name: string, args: object) => Effect.Effect<Client.Seen, E>, name: string) =>
  Effect.gen(function* () {
    const calling = yield* start(call(name, {}))
    yield* TestClock.adjust("1 second")
    return String(nextOf(yield* Fiber.join(calling))?.arguments["taskId"])
  })

describe.each(hosts)("Tools for clients without tasks, in $version", ({ open, version }) => {
  const hasStructure = version >= "2025-06-18"

  it.effect("A status call returns when the task ends or the time is up", () =>
    Effect.gen(function* () {
      const done = yield* Deferred.make<string>()
      const working = tool("work", "optional", () =>
        Effect.andThen(Progress.report(1, { message: "Mixing" }), Deferred.await(done))
      )
      const { call } = yield* open(Layer.merge(working, layer))
      const taskId = yield* started(call, "work")
      const first = yield* start(call("tasks_status", { taskId }))
      yield* TestClock.adjust("1 second")
      const running = yield* Fiber.join(first)
      assert.isNotTrue(running["isError"])
      assert.include(textOf(running), "still running. Latest status: Mixing.")
      assert.deepStrictEqual(nextOf(running), { tool: "tasks_status", arguments: { taskId } })
      if (hasStructure) {
        assert.deepInclude(running["structuredContent"], { taskId, status: "working", statusMessage: "Mixing" })
      }
      const second = yield* start(call("tasks_status", { taskId }))
      yield* quiesce
      yield* Deferred.succeed(done, "Mixed")
      const ended = yield* Fiber.join(second)
      assert.include(textOf(ended), " is completed. To read its result")
      assert.deepStrictEqual(nextOf(ended), { tool: "tasks_result", arguments: { taskId } })
      const result = yield* call("tasks_result", { taskId })
      assert.deepStrictEqual(result["content"], [{ type: "text", text: "Mixed" }])
      // It can be read again.
      assert.deepStrictEqual(yield* call("tasks_result", { taskId }), result)
    })
  )

  it.effect("Reading the result of a running task returns the task's status", () =>
    Effect.gen(function* () {
      const { call } = yield* open(Layer.merge(waiting, layer))
      const taskId = yield* started(call, "wait")
      const result = yield* start(call("tasks_result", { taskId }))
      yield* TestClock.adjust("1 second")
      assert.include(textOf(yield* Fiber.join(result)), "still running")
    })
  )

  it.effect("Cancelling a wait keeps the task running, and `tasks_cancel` cancels it", () =>
    Effect.gen(function* () {
      const ended = yield* Deferred.make<void>()
      const endless = tool("wait", "optional", () =>
        Effect.onInterrupt(Effect.never, () => Deferred.succeed(ended, undefined))
      )
      const { call } = yield* open(Layer.merge(endless, layer))
      const taskId = yield* started(call, "wait")
      const status = yield* start(call("tasks_status", { taskId }))
      yield* quiesce
      yield* Fiber.interrupt(status)
      yield* quiesce
      assert.isFalse(yield* Deferred.isDone(ended))
      const cancelled = yield* call("tasks_cancel", { taskId })
      assert.strictEqual(textOf(cancelled), `The task ${taskId} was cancelled.`)
      if (hasStructure) assert.strictEqual(cancelled["structuredContent"].status, "cancelled")
      yield* Deferred.await(ended)
      for (const name of ["tasks_cancel", "tasks_status", "tasks_result"]) {
        assert.strictEqual(textOf(yield* call(name, { taskId })), `The task ${taskId} was cancelled.`)
      }
    })
  )

  it.effect("An unknown task is reported as a failure that the model can understand", () =>
    Effect.gen(function* () {
      const { call } = yield* open(Layer.merge(waiting, layer))
      for (const name of ["tasks_status", "tasks_result", "tasks_cancel"]) {
        const result = yield* call(name, { taskId: "x".repeat(10_000) })
        assert.isTrue(result["isError"])
        assert.match(textOf(result), /^Unknown task/)
      }
    })
  )

  it.effect("A task is unknown to other principals, and to other connections", () =>
    Effect.gen(function* () {
      const server = yield* Client.serve(Layer.merge(waiting, layer))
      const ada = yield* connectStateless(server, { principal: named("ada") })
      const taskId = yield* started(ada.call, "wait")
      const unnamed = yield* started((yield* connectStateless(server)).call, "wait")
      const bob = yield* connectStateful(server, "2025-06-18", { principal: named("bob") })
      for (const id of [taskId, unnamed]) {
        for (const name of ["tasks_status", "tasks_result", "tasks_cancel"]) {
          assert.match(textOf(yield* bob.call(name, { taskId: id })), /^Unknown task/)
        }
      }
      // The same principal in another session of another revision.
      const again = yield* connectStateful(server, "2024-11-05", { principal: named("ada") })
      const status = yield* start(again.call("tasks_status", { taskId }))
      yield* TestClock.adjust("1 second")
      assert.include(textOf(yield* Fiber.join(status)), "still running")
    })
  )
})

describe("Tools visible to a client", () => {
  const Output = { pages: Schema.Int }
  const typed = (task: "optional" | "required") =>
    Tools.layer(Tool.make(task, { description: task, output: Output, task }), () => Effect.succeed({ pages: 1 }))
  const plain = Tools.layer(Tool.make("plain", { description: "plain", output: Output }), () =>
    Effect.succeed({ pages: 1 })
  )
  const features = Layer.mergeAll(typed("optional"), typed("required"), plain, layer)
  const seen = (tools: ReadonlyArray<Client.Seen>) =>
    tools.map(({ execution, name, outputSchema }) => [name, outputSchema !== undefined, execution?.taskSupport])

  it.effect("A client without tasks sees every tool and the tools for following tasks", () =>
    Effect.gen(function* () {
      const server = yield* Client.serve(features)
      const following = ["tasks_status", "tasks_result", "tasks_cancel"].map((name) => [name, false, undefined])
      const { tools } = yield* connectStateless(server)
      assert.deepStrictEqual(seen(yield* tools), [
        ["optional", false, undefined],
        ["required", false, undefined],
        ["plain", true, undefined],
        ...following
      ])
      const stateful = yield* connectStateful(server, "2025-11-25")
      assert.deepStrictEqual(seen(yield* stateful.tools), [
        ["optional", false, "optional"],
        ["required", false, "optional"],
        ["plain", true, undefined],
        ...following
      ])
    })
  )

  it.effect("A client with tasks does not see the tools for following tasks and cannot call them", () =>
    Effect.gen(function* () {
      const server = yield* Client.serve(features)
      const modern = yield* Client.connect(server)
      const { session } = yield* connectStateful(server, "2025-11-25", { tasks: true })
      for (const client of [modern, session]) {
        const { tools } = yield* client.request("tools/list")
        assert.deepStrictEqual(
          seen(tools).map(([name, hasSchema]) => [name, hasSchema]),
          [
            ["optional", true],
            ["required", true],
            ["plain", true]
          ]
        )
        for (const name of ["tasks_status", "tasks_result", "tasks_cancel"]) {
          const { code, message } = yield* client.refused("tools/call", { name, arguments: { taskId: "x" } })
          assert.deepStrictEqual([code, message], [-32602, `Unknown tool: ${name}`])
        }
      }
    })
  )

  it.effect("The tools for following tasks are listed only if a visible tool needs them", () =>
    Effect.gen(function* () {
      const visible = ({ subject }: { readonly subject?: string | undefined }) => subject === "ada"
      const server = yield* Client.serve(
        Layer.mergeAll(
          tool("secret", "optional", () => Effect.never, { visible }),
          plain,
          layer
        )
      )
      const names = (subject: string) =>
        Effect.flatMap(connectStateless(server, { principal: named(subject) }), ({ tools }) =>
          Effect.map(tools, (all) => all.map(({ name }) => name))
        )
      assert.deepStrictEqual(yield* names("bob"), ["plain"])
      assert.include(yield* names("ada"), "tasks_status")
    })
  )

  it.effect("Every page of the list is private", () =>
    Effect.gen(function* () {
      const caching = { tools: { timeToLive: "1 minute", scope: "public" } } as const
      const server = yield* Client.serve(features, { caching, pageSize: 2 })
      const { client } = yield* connectStateless(server)
      const first = yield* client.request("tools/list")
      const second = yield* client.request("tools/list", { cursor: first["nextCursor"] })
      assert.deepStrictEqual([first["cacheScope"], second["cacheScope"]], ["private", "private"])
    })
  )

  it.effect("A server without handles has no tools for following tasks", () =>
    Effect.gen(function* () {
      const { call, tools } = yield* connectStateless(yield* Client.serve(Layer.merge(waiting, Tasks.layer())))
      assert.deepStrictEqual(
        (yield* tools).map(({ name }) => name),
        ["wait"]
      )
      assert.isTrue(Exit.isFailure(yield* Effect.exit(call("tasks_status", { taskId: "x" }))))
    })
  )

  it.effect("A name conflict fails the build, and a prefix resolves it", () =>
    Effect.gen(function* () {
      const own = tool("tasks_status", undefined, () => Effect.succeed("mine"))
      for (const all of [Layer.mergeAll(own, waiting, layer), Layer.mergeAll(waiting, layer, own)]) {
        const exit = yield* Effect.exit(Client.serve(all))
        assert.include(String(Exit.isFailure(exit) ? exit.cause : ""), '"tasks_status" is already registered')
      }
      const prefixed = Tasks.layer({ handles: { ...handles, prefix: "follow-" } })
      const { call, tools } = yield* connectStateless(yield* Client.serve(Layer.mergeAll(own, waiting, prefixed)))
      assert.deepStrictEqual(
        (yield* tools).map(({ name }) => name),
        ["tasks_status", "wait", "follow-status", "follow-result", "follow-cancel"]
      )
      const calling = yield* start(call("wait", {}))
      yield* TestClock.adjust("1 second")
      assert.include(textOf(yield* Fiber.join(calling)), "call follow-status with")
    })
  )
})

describe("Questions while a client without tasks follows a task", () => {
  const confirm = Elicitation.form("Sure?", Schema.Struct({ ok: Schema.Boolean }), { key: "sure" })
  /** Asks two seconds after its start, when its call has been answered. */
  const later = tool("ask", "optional", () =>
    Effect.andThen(
      Effect.sleep("2 seconds"),
      Effect.map(confirm, ({ ok }) => String(ok))
    )
  )
  const accepted = { action: "accept", content: { ok: true } }

  it.effect("A client with a session is asked during the waiting call", () =>
    Effect.gen(function* () {
      const server = yield* Client.serve(Layer.merge(later, layer))
      const { call, session } = yield* connectStateful(server, "2025-06-18")
      const taskId = yield* started(call, "ask")
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(session.asked, [])
      const first = yield* start(call("tasks_status", { taskId }))
      const lost = yield* session.nextAsked
      yield* Fiber.interrupt(first)
      yield* quiesce
      assert.isTrue(
        session.notes.some(({ method, params }) => method === "notifications/cancelled" && params.requestId === lost.id)
      )
      const second = yield* start(call("tasks_result", { taskId }))
      const { answer, params } = yield* session.nextAsked
      assert.strictEqual(params.message, "Sure?")
      yield* answer(accepted)
      assert.strictEqual(textOf(yield* Fiber.join(second)), "true")
    })
  )

  it.effect("A question asked in two calls is withdrawn from one when the other is answered", () =>
    Effect.gen(function* () {
      const server = yield* Client.serve(Layer.merge(later, layer))
      const { call, session } = yield* connectStateful(server, "2025-11-25")
      const taskId = yield* started(call, "ask")
      yield* TestClock.adjust("1 second")
      const calls = [yield* start(call("tasks_status", { taskId })), yield* start(call("tasks_status", { taskId }))]
      yield* session.nextAsked
      const { answer } = yield* session.nextAsked
      yield* answer(accepted)
      for (const one of calls) assert.strictEqual((yield* Fiber.join(one))["structuredContent"].status, "completed")
    })
  )

  it.effect("A client without sessions is asked in rounds", () =>
    Effect.gen(function* () {
      const { call, client } = yield* connectStateless(yield* Client.serve(Layer.merge(later, layer)))
      const taskId = yield* started(call, "ask")
      yield* TestClock.adjust("1 second")
      const params = { name: "tasks_result", arguments: { taskId } }
      const { inputRequests, requestState } = yield* client.request("tools/call", params)
      assert.deepStrictEqual(Object.keys(inputRequests), ["sure"])
      const inputResponses = { sure: accepted }
      const result = yield* client.request("tools/call", { ...params, requestState, inputResponses })
      assert.strictEqual(textOf(result), "true")
    })
  )

  it.effect("A declined question fails the tool as it does in an ordinary call", () =>
    Effect.gen(function* () {
      const { call, session } = yield* connectStateful(yield* Client.serve(Layer.merge(later, layer)), "2025-06-18")
      const taskId = yield* started(call, "ask")
      yield* TestClock.adjust("1 second")
      const result = yield* start(call("tasks_result", { taskId }))
      const { answer } = yield* session.nextAsked
      yield* answer({ action: "decline" })
      assert.isTrue((yield* Fiber.join(result))["isError"])
    })
  )

  it.effect("A client that cannot be asked can read the open question", () =>
    Effect.gen(function* () {
      const server = yield* Client.serve(Layer.merge(later, layer))
      const able = yield* connectStateful(server, "2025-06-18", { principal: named("ada") })
      const taskId = yield* started(able.call, "ask")
      yield* TestClock.adjust("1 second")
      const unable = yield* connectStateful(server, "2025-06-18", { principal: named("ada"), asks: false })
      const status = yield* unable.call("tasks_status", { taskId })
      assert.include(textOf(status), "is waiting for input that this client does not support (elicitation/create)")
      assert.isUndefined(status["structuredContent"].questions)
    })
  )
})

describe("Questions that the model answers", () => {
  const Pick = Schema.Struct({ color: Schema.String })
  const asking = tool("ask", "optional", () =>
    Effect.map(Elicitation.form("Which color?", Pick, { key: "color" }), ({ color }) => color)
  )
  const asked = Tasks.layer({ handles: { ...handles, askModel: true } })

  describe.each(hosts.filter(({ version }) => version >= "2025-06-18"))("in $version", ({ open }) => {
    it.effect("A client without elicitation reads the question with its schema and answers it", () =>
      Effect.gen(function* () {
        const { call, tools } = yield* open(Layer.merge(asking, asked), { asks: false })
        assert.include(
          (yield* tools).map(({ name }) => name),
          "tasks_answer"
        )
        const handle = yield* call("ask", {})
        const { questions, status, taskId } = handle["structuredContent"]
        assert.strictEqual(status, "input_required")
        assert.deepInclude(questions[0], { question: "color", message: "Which color?" })
        assert.deepStrictEqual(questions[0].schema.required, ["color"])
        assert.include(textOf(handle), "Which color?")
        const answer = { taskId, question: "color", content: { color: "red" } }
        assert.strictEqual((yield* call("tasks_answer", answer))["structuredContent"].status, "completed")
        assert.strictEqual(textOf(yield* call("tasks_result", { taskId })), "red")
      })
    )

    it.effect("A declined question fails the tool", () =>
      Effect.gen(function* () {
        const { call } = yield* open(Layer.merge(asking, asked), { asks: false })
        const { taskId } = (yield* call("ask", {}))["structuredContent"]
        const declined = yield* call("tasks_answer", { taskId, action: "decline" })
        assert.strictEqual(declined["structuredContent"].status, "failed")
        assert.isTrue((yield* call("tasks_result", { taskId }))["isError"])
      })
    )

    it.effect("A malformed answer or an unknown question leaves the question open", () =>
      Effect.gen(function* () {
        const { call } = yield* open(Layer.merge(asking, asked), { asks: false })
        const { taskId } = (yield* call("ask", {}))["structuredContent"]
        assert.isTrue((yield* call("tasks_answer", { taskId, question: "x", content: {} }))["isError"])
        assert.match(textOf(yield* call("tasks_answer", { taskId: "x", content: {} })), /^Unknown task/)
        const malformed = yield* call("tasks_answer", { taskId, content: { color: 1 } })
        assert.isTrue(malformed["isError"])
        assert.match(textOf(malformed), /does not match the question's schema: .*color/)
        assert.isTrue((yield* call("tasks_answer", { taskId }))["isError"])
        yield* call("tasks_answer", { taskId, content: { color: "blue" } })
        assert.strictEqual(textOf(yield* call("tasks_result", { taskId })), "blue")
      })
    )

    it.effect("A client with elicitation is asked directly and has no answering tool", () =>
      Effect.gen(function* () {
        const { call, tools } = yield* open(Layer.merge(waiting, asked))
        assert.notInclude(
          (yield* tools).map(({ name }) => name),
          "tasks_answer"
        )
        const failed = yield* Effect.flip(call("tasks_answer", { taskId: "x" }))
        assert.include(failed.message, "Unknown tool: tasks_answer")
      })
    )
  })

  it.effect("Several open questions can be answered by name", () =>
    Effect.gen(function* () {
      const both = tool("ask", "optional", () =>
        Effect.map(
          Effect.all(
            ["a", "b"].map((key) => Elicitation.form(`${key}?`, Pick, { key })),
            { concurrency: 2 }
          ),
          (colors) => colors.map(({ color }) => color).join()
        )
      )
      const { call } = yield* connectStateless(yield* Client.serve(Layer.merge(both, asked)), { asks: false })
      const { taskId } = (yield* call("ask", {}))["structuredContent"]
      assert.strictEqual(
        textOf(yield* call("tasks_answer", { taskId, content: { color: "red" } })),
        "Several questions are open. Pass one of: a, b"
      )
      yield* call("tasks_answer", { taskId, question: "b", content: { color: "blue" } })
      yield* call("tasks_answer", { taskId, question: "a", content: { color: "red" } })
      assert.strictEqual(textOf(yield* call("tasks_result", { taskId })), "red,blue")
    })
  )
})

it.effect("A waiting tool reports progress with the task's message", () =>
  Effect.gen(function* () {
    const working = tool("work", "optional", () =>
      Effect.andThen(Progress.report(7, { message: "Mixing" }), Effect.never)
    )
    const server = yield* Client.serve(Layer.merge(working, Tasks.layer({ handles: { answerWithin: "12 seconds" } })))
    const { call, session } = yield* connectStateful(server, "2025-06-18")
    const calling = yield* start(call("work", {}))
    yield* TestClock.adjust("12 seconds")
    const { taskId } = (yield* Fiber.join(calling))["structuredContent"]
    const params = { name: "tasks_status", arguments: { taskId }, _meta: { progressToken: "p" } }
    const status = yield* start(session.request("tools/call", params))
    yield* quiesce
    yield* TestClock.adjust("12 seconds")
    yield* Fiber.join(status)
    const progress = session.notes.flatMap(({ method, params }) =>
      method === "notifications/progress" ? [[params.progressToken, params.progress, params.message]] : []
    )
    assert.deepStrictEqual(progress, [
      ["p", 5, "Mixing"],
      ["p", 10, "Mixing"]
    ])
  })
)

it.effect("The number of a caller's waiting calls is limited", () =>
  Effect.gen(function* () {
    const limited = Tasks.layer({ maxWaits: 1, handles })
    const { call } = yield* connectStateless(yield* Client.serve(Layer.merge(waiting, limited)))
    const taskId = yield* started(call, "wait")
    const first = yield* start(call("tasks_status", { taskId }))
    yield* quiesce
    const refused = yield* Effect.flip(call("tasks_status", { taskId }))
    assert.propertyVal(refused, "code", -31429)
    yield* TestClock.adjust("1 second")
    yield* Fiber.join(first)
  })
)
