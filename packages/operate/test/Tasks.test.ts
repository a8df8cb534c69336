import { Elicitation, Once, Progress, Tool, Tools } from "@effect-mcp/core"
import { Admin, Audit, Telemetry } from "@effect-mcp/operate"
import { McpServer } from "@effect-mcp/server"
import { Tasks } from "@effect-mcp/tasks"
import { quiesce } from "@effect-mcp/testing/Quiesce"
import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Exit, Layer, Metric, Stream, Tracer } from "effect"
import { TestClock } from "effect/testing"
import { connect } from "./support/tasks.ts"

const ada = { subject: "ada", scopes: ["s3cret"], claims: { iss: "https://issuer", jti: "s3cret" } }

const tool = (name: string) => Tool.make(name, { description: name, task: "required" })

/** A server whose tools run as tasks, and the effects that end them. */
const start = Effect.gen(function* () {
  const go = yield* Deferred.make<void>()
  const features = Layer.mergeAll(
    Tools.layer(tool("reads"), () =>
      Effect.andThen(Progress.report(1, { total: 4, message: "reading" }), Effect.as(Deferred.await(go), "read"))
    ),
    Tools.layer(tool("asks"), () => Effect.as(Elicitation.confirm("Go on?"), "asked")),
    Tools.layer(tool("sleeps"), () => Effect.as(Once.sleep("night", "1 hour"), "slept")),
    Tools.layer(tool("fails"), () => Effect.fail(new Tools.ToolFailure({ message: "It failed" }))),
    Tasks.layer()
  )
  const context = yield* Layer.build(Layer.fresh(McpServer.layer({ name: "test", version: "1", features })))
  return { server: Context.get(context, McpServer.McpServer), go }
})

const rows = (server: McpServer.Server) =>
  Effect.map(Effect.provideService(Admin.take, McpServer.McpServer, server), ({ requests }) =>
    requests.filter(({ kind }) => kind === "task")
  )

describe("Tasks in the server view", () => {
  it.effect("A task row shows tool, state, age, progress, caller and open questions, but no usable id", () =>
    Effect.gen(function* () {
      const { server, go } = yield* start
      const named = yield* connect(server, ada)
      const anonymous = yield* connect(server)
      const { taskId } = yield* named.call("reads")
      const asking = yield* anonymous.call("asks")
      yield* anonymous.call("sleeps")
      yield* quiesce
      yield* TestClock.adjust("5 seconds")
      const shown = yield* rows(server)
      assert.deepStrictEqual(
        shown.map(({ asking, progress, state, target, wakesAt }) => ({ asking, progress, state, target, wakesAt })),
        [
          {
            target: "reads",
            state: "running",
            asking: [],
            wakesAt: undefined,
            progress: { progress: 1, total: 4, message: "reading" }
          },
          {
            target: "asks",
            state: "asking",
            asking: ["elicitation/create"],
            wakesAt: undefined,
            progress: undefined
          },
          { target: "sleeps", state: "sleeping", asking: [], wakesAt: 3_600_000, progress: undefined }
        ]
      )
      const [first, second] = shown
      assert.strictEqual(first?.since, 0)
      assert.strictEqual(first?.task, taskId)
      assert.deepStrictEqual(first?.principal, { subject: "ada", issuer: "https://issuer" })
      assert.deepStrictEqual(first?.client, { name: "test", version: "0" })
      assert.notStrictEqual(second?.task, asking["taskId"])
      assert.notInclude(JSON.stringify(shown), asking["taskId"])
      assert.notInclude(JSON.stringify(shown), "s3cret")
      yield* Deferred.succeed(go, undefined)
      yield* quiesce
      assert.deepStrictEqual(
        (yield* rows(server)).map(({ target }) => target),
        ["asks", "sleeps"]
      )
    })
  )

  it.effect("A task keeps its key while parked, and leaves the view when it ends", () =>
    Effect.gen(function* () {
      const { server } = yield* start
      const client = yield* connect(server, ada)
      yield* client.call("sleeps")
      yield* quiesce
      const [before] = yield* rows(server)
      // Long enough to be parked: no fiber runs for the task.
      yield* TestClock.adjust("2 minutes")
      const [parked] = yield* rows(server)
      assert.deepStrictEqual(
        { key: parked?.key, state: parked?.state, wakesAt: parked?.wakesAt, subject: parked?.principal.subject },
        { key: before?.key, state: "sleeping", wakesAt: 3_600_000, subject: "ada" }
      )
      yield* TestClock.adjust("1 hour")
      yield* quiesce
      assert.deepStrictEqual(yield* rows(server), [])
    })
  )

  it.effect.each(["while they run", "while they are parked"])(
    "An operator cancels tasks %s, and the client receives the reason",
    (when) =>
      Effect.gen(function* () {
        const { server } = yield* start
        const client = yield* connect(server, ada)
        const { taskId } = yield* client.call("sleeps")
        yield* quiesce
        if (when === "while they are parked") yield* TestClock.adjust("2 minutes")
        const [row] = yield* rows(server)
        assert.isTrue(yield* server.requests.interrupt(row?.key ?? "", "It was too slow"))
        yield* quiesce
        const task = yield* client.get(taskId)
        assert.strictEqual(task["status"], "cancelled")
        assert.strictEqual(task["statusMessage"], "It was too slow")
        assert.deepStrictEqual(yield* rows(server), [])
        assert.isFalse(yield* server.requests.interrupt(row?.key ?? "", "Again"))
      })
  )

  it.effect("The view announces when tasks begin and end", () =>
    Effect.gen(function* () {
      const { server, go } = yield* start
      const client = yield* connect(server, ada)
      yield* client.call("reads")
      yield* quiesce
      const next = yield* Effect.forkChild(Stream.runHead(server.requests.changes), { startImmediately: true })
      yield* quiesce
      yield* Deferred.succeed(go, undefined)
      yield* quiesce
      assert.isDefined(next.pollUnsafe())
    })
  )
})

/** The series of a metric, without their units. */
const series = (name: string) =>
  Effect.map(Metric.snapshot, (all) =>
    all.flatMap(({ attributes, id, state }) => {
      const { unit: _, ...rest } = attributes ?? {}
      return id === name ? [{ attributes: rest, state }] : []
    })
  )

const gauge = (name: string, attributes: object = {}) =>
  Effect.map(series(name), (all) => {
    const found = all.find((one) => JSON.stringify(one.attributes) === JSON.stringify(attributes))
    assert(found !== undefined && "value" in found.state, name)
    return Number(found.state.value)
  })

const sums = (name: string): Effect.Effect<ReadonlyArray<object>> =>
  Effect.map(series(name), (all) =>
    all.map(({ attributes, state }) => {
      assert("sum" in state)
      return { ...attributes, count: state.count, sum: state.sum }
    })
  )

describe("Task metrics", () => {
  it.effect("Metrics count running tasks by state, open questions, runs and outcomes", () =>
    Effect.gen(function* () {
      const { server } = yield* start
      const client = yield* connect(server, ada)
      yield* client.call("fails")
      const asks = yield* client.call("asks")
      const sleeps = yield* client.call("sleeps")
      yield* quiesce
      assert.strictEqual(yield* gauge("mcp.server.active_tasks", { "mcp.task.state": "asking" }), 1)
      assert.strictEqual(yield* gauge("mcp.server.active_tasks", { "mcp.task.state": "sleeping" }), 1)
      assert.strictEqual(yield* gauge("mcp.server.active_tasks", { "mcp.task.state": "running" }), 0)
      assert.strictEqual(yield* gauge("mcp.server.task.open_questions"), 1)
      yield* TestClock.adjust("5 seconds")
      const [key = ""] = Object.keys((yield* client.get(asks["taskId"]))["inputRequests"])
      yield* client.answer(asks["taskId"], { [key]: { action: "accept", content: { confirm: true } } })
      yield* quiesce
      yield* TestClock.adjust("2 minutes")
      yield* client.cancel(sleeps["taskId"])
      yield* client.cancel(sleeps["taskId"])
      assert.deepStrictEqual(yield* sums("mcp.server.task.duration"), [
        { "mcp.task.state": "failed", "gen_ai.tool.name": "fails", count: 1, sum: 0 },
        { "mcp.task.state": "completed", "gen_ai.tool.name": "asks", count: 1, sum: 5 },
        { "mcp.task.state": "cancelled", count: 1, sum: 125 }
      ])
      assert.deepStrictEqual(yield* sums("mcp.server.task.run.duration"), [
        { "mcp.task.run.end": "ended", "error.type": "tool_error", "gen_ai.tool.name": "fails", count: 1, sum: 0 },
        { "mcp.task.run.end": "ended", "gen_ai.tool.name": "asks", count: 1, sum: 5 },
        { "mcp.task.run.end": "parked", "gen_ai.tool.name": "sleeps", count: 1, sum: 30 }
      ])
      const created = yield* series("mcp.server.task.created")
      assert.deepStrictEqual(
        created.map(({ attributes }) => attributes["gen_ai.tool.name"]),
        ["fails", "asks", "sleeps"]
      )
    }).pipe(Effect.provide(Telemetry.layer()), Effect.provideService(Metric.MetricRegistry, new Map()))
  )

  it.effect("Metrics count parked tasks by state, as stored at the time of export", () =>
    Effect.gen(function* () {
      const parked = (state: string) => gauge("mcp.server.parked_tasks", { "mcp.task.state": state })
      const { server } = yield* start
      const client = yield* connect(server, ada)
      yield* client.call("asks")
      yield* client.call("sleeps")
      const cancelled = yield* client.call("sleeps")
      yield* quiesce
      assert.strictEqual(yield* parked("sleeping"), 0)
      // Long enough to be parked.
      yield* TestClock.adjust("2 minutes")
      assert.deepStrictEqual([yield* parked("asking"), yield* parked("sleeping"), yield* parked("pending")], [1, 2, 0])
      assert.strictEqual(yield* gauge("mcp.server.active_tasks", { "mcp.task.state": "sleeping" }), 0)
      yield* client.cancel(cancelled["taskId"])
      assert.strictEqual(yield* parked("sleeping"), 2, "the store is not read again at once")
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual(yield* parked("sleeping"), 1)
    }).pipe(Effect.provide(Telemetry.layer()), Effect.provideService(Metric.MetricRegistry, new Map()))
  )

  it.effect("Metrics count a task that expires while parked once, with its tool", () =>
    Effect.gen(function* () {
      const { server } = yield* start
      const client = yield* connect(server, ada)
      yield* client.call("asks")
      yield* quiesce
      // Long enough to be parked: no fiber runs for the task when its time is over.
      yield* TestClock.adjust("1 day")
      yield* TestClock.adjust("2 minutes")
      yield* quiesce
      const ended = yield* series("mcp.server.task.duration")
      assert.deepStrictEqual(
        ended.map(({ attributes, state }) => [attributes, "count" in state && state.count]),
        [[{ "mcp.task.state": "expired", "gen_ai.tool.name": "asks" }, 1]]
      )
    }).pipe(Effect.provide(Telemetry.layer()), Effect.provideService(Metric.MetricRegistry, new Map()))
  )

  it.effect("The audit trail has task entries without ids that grant access", () => {
    const lines: Array<string> = []
    const trail = Layer.provide(
      Audit.layer(),
      Layer.succeed(Audit.Sink, {
        append: (more) => Effect.sync(() => void lines.push(...more)),
        ending: Effect.undefined
      })
    )
    return Effect.gen(function* () {
      const taskId = yield* Effect.gen(function* () {
        const { server } = yield* start
        const client = yield* connect(server)
        const { taskId } = yield* client.call("sleeps")
        yield* client.cancel(taskId)
        yield* client.call("sleeps")
        yield* quiesce
        const [row] = yield* rows(server)
        yield* server.requests.interrupt(row?.key ?? "", "It was too slow")
        return String(taskId)
      }).pipe(Effect.scoped, Effect.provide(trail))
      const entries = lines.map((line) => JSON.parse(line)).filter(({ event }) => event.startsWith("task."))
      assert.deepStrictEqual(
        entries.map(({ details, event, target }) => [event, target, details?.reason]),
        [
          ["task.created", "sleeps", undefined],
          ["task.cancelled", undefined, undefined],
          ["task.created", "sleeps", undefined],
          ["task.cancelled", undefined, "It was too slow"]
        ]
      )
      assert.notInclude(lines.join("\n"), taskId)
    })
  })
})

describe("Task spans", () => {
  it.effect("A task has one root span per run, linked to the span of the request that created it", () => {
    const spans: Array<Tracer.Span> = []
    const tracer = Tracer.make({
      span: (options) => {
        const span = new Tracer.NativeSpan(options)
        spans.push(span)
        return span
      }
    })
    return Effect.gen(function* () {
      const { server } = yield* start
      const client = yield* connect(server, ada)
      const { taskId } = yield* client.call("sleeps")
      yield* quiesce
      yield* TestClock.adjust("2 hours")
      yield* quiesce
      const creator = spans.find(({ kind, name }) => name === "tools/call sleeps" && kind === "server")
      const runs = spans.filter(({ name }) => name === "execute_tool sleeps")
      assert.strictEqual(runs.length, 2)
      for (const { kind, links, parent, status, attributes } of runs) {
        assert.strictEqual(kind, "internal")
        assert.isTrue(parent._tag === "None")
        assert.deepStrictEqual(
          links.map(({ span }) => span.spanId),
          [creator?.spanId]
        )
        assert(status._tag === "Ended" && Exit.isSuccess(status.exit))
        assert.strictEqual(attributes.get("mcp.task.id"), taskId)
        assert.strictEqual(attributes.get("gen_ai.tool.name"), "sleeps")
        assert.isFalse(attributes.has("error.type"))
      }
      assert.deepStrictEqual(
        runs.map(({ attributes }) => attributes.get("mcp.task.run.end")),
        ["parked", "ended"]
      )
    }).pipe(Effect.provideService(Tracer.Tracer, tracer))
  })
})
