/** Long requests of 2026-07-28: their streams, disconnects and shutdowns. */
import * as Progress from "@effect-mcp/core/Progress"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import type * as McpServer from "@effect-mcp/server/McpServer"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Layer, Queue, Scope } from "effect"
import { call, echo, messages, open, sent } from "../support/http.ts"

const listening = (id: string | number, notifications: object = { toolsListChanged: true }) =>
  sent("subscriptions/listen", { notifications }, {}, id)

/** A tool that reports progress if asked to, then waits; `ended` records how each call ended. */
const waiting = Effect.gen(function* () {
  const entered = yield* Queue.unbounded<void>()
  const ended = yield* Queue.unbounded<"interrupted" | "done">()
  const go = yield* Deferred.make<void>()
  const tool = Tools.layer(
    Tool.make("wait", { description: "Waits." }),
    Effect.fnUntraced(function* () {
      yield* Effect.addFinalizer((exit) => Queue.offer(ended, Exit.isSuccess(exit) ? "done" : "interrupted"))
      yield* Progress.report(1)
      yield* Queue.offer(entered, undefined)
      yield* Deferred.await(go)
      yield* Progress.report(2)
      return "waited"
    })
  )
  return { entered, ended, go: Deferred.succeed(go, undefined), tool }
})
const withProgress = call("wait", {}, {}, { progressToken: "p" })

describe("Responses in 2026-07-28", () => {
  it.live(
    "A response with a message before the answer is an event stream, ending with the answer",
    () =>
      Effect.gen(function* () {
        const { entered, go, tool } = yield* waiting
        const { fetch } = yield* open(tool)
        const reply = yield* fetch(withProgress)
        assert.strictEqual(reply.status, 200)
        assert.strictEqual(reply.headers["content-type"], "text/event-stream")
        assert.strictEqual(reply.headers["x-accel-buffering"], "no")
        const first = yield* reply.next
        assert.deepStrictEqual(first.params, { progressToken: "p", progress: 1 })
        yield* Queue.take(entered)
        yield* go
        const rest = yield* messages(reply)
        assert.deepStrictEqual(
          rest.map(({ method, id, params, result }) => method ?? [id, params, result.content[0].text]),
          ["notifications/progress", [1, undefined, "waited"]]
        )
        const events = (yield* reply.text).split("\n\n")
        assert.strictEqual(events.pop(), "")
        assert.isTrue(events.every((event) => /^data: [^\n]+$/.test(event)))
      }),
    verifies(
      "http.post-stream.not-buffered",
      "http.post-stream.no-requests",
      "http.post-stream.related",
      "http.post-stream.closes-after-response",
      "http.post.json-or-sse"
    )
  )

  it.live("A response with only the answer is a single JSON object, however long it takes", () =>
    Effect.gen(function* () {
      const { entered, go, tool } = yield* waiting
      const { fetch } = yield* open(tool)
      const asked = yield* Effect.forkChild(fetch(call("wait")), { startImmediately: true })
      yield* Queue.take(entered)
      yield* go
      const reply = yield* Fiber.join(asked)
      assert.strictEqual(reply.headers["content-type"], "application/json")
      assert.strictEqual((yield* reply.json).result.content[0].text, "waited")
    })
  )

  it.live("An answer has its request's id, even if other running requests share it", () =>
    Effect.gen(function* () {
      const { entered, go, tool } = yield* waiting
      const { fetch } = yield* open(Layer.merge(tool, echo))
      const first = yield* Effect.forkChild(fetch(call("wait")), { startImmediately: true })
      yield* Queue.take(entered)
      const second = yield* (yield* fetch(call("echo", { text: "second" }))).json
      assert.deepStrictEqual([second.id, second.result.content[0].text], [1, "second"])
      yield* go
      const { id, result } = yield* (yield* Fiber.join(first)).json
      assert.deepStrictEqual([id, result.content[0].text], [1, "waited"])
    })
  )
})

describe("Clients that stop reading", () => {
  it.live("A stalled client suspends only its own handler", () =>
    Effect.gen(function* () {
      const last = 2000
      let reported = 0
      const flood = Tools.layer(
        Tool.make("flood", { description: "Says much." }),
        Effect.fnUntraced(function* () {
          for (let step = 1; step <= last; step++) {
            yield* Progress.report(step, { message: "x".repeat(16 * 1024) })
            reported = step
          }
          return "done"
        })
      )
      const { fetch } = yield* open(Layer.merge(flood, echo))
      const reply = yield* fetch({ ...call("flood", {}, {}, { progressToken: "p" }), paused: true })
      for (let round = 0; round < 50; round++) {
        assert.strictEqual((yield* fetch(call("echo", { text: "" }))).status, 200)
      }
      assert.isBelow(reported, last / 2)
      yield* reply.resume
      const all = yield* messages(reply)
      assert.strictEqual(reported, last)
      assert.strictEqual(all.at(-1).result.content[0].text, "done")
      const steps = all.slice(0, -1).map(({ params }) => params.progress)
      assert.deepStrictEqual(
        steps,
        steps.toSorted((a, b) => a - b)
      )
    })
  )
})

describe("Disconnects", () => {
  it.live(
    "Disconnecting before the first message interrupts the handler and runs its finalizers",
    () =>
      Effect.gen(function* () {
        const { ended, entered, tool } = yield* waiting
        const { abandon } = yield* open(tool)
        yield* Effect.scoped(Effect.andThen(abandon(call("wait")), Queue.take(entered)))
        assert.strictEqual(yield* Queue.take(ended), "interrupted")
      }),
    verifies("http.disconnect.cancels", "http.disconnect.stops")
  )

  it.live(
    "Disconnecting from the stream interrupts the handler",
    () =>
      Effect.gen(function* () {
        const { ended, go, tool } = yield* waiting
        const { fetch } = yield* open(tool)
        const reply = yield* fetch(withProgress)
        assert.strictEqual((yield* reply.next).params.progress, 1)
        yield* reply.disconnect
        assert.strictEqual(yield* Queue.take(ended), "interrupted")
        yield* go
        assert.deepStrictEqual(yield* messages(reply), [])
      }),
    verifies("http.disconnect.cancels", "http.disconnect.nothing-more")
  )

  it.live("Disconnecting frees the request's slot and subscription", () =>
    Effect.gen(function* () {
      const { ended, entered, tool } = yield* waiting
      const { abandon, fetch } = yield* open(tool, { inFlight: 1, subscriptions: 1 })
      for (let round = 0; round < 20; round++) {
        const listen = yield* fetch(listening(round))
        assert.strictEqual((yield* listen.next).method, "notifications/subscriptions/acknowledged")
        yield* Effect.scoped(Effect.andThen(abandon(call("wait")), Queue.take(entered)))
        assert.strictEqual(yield* Queue.take(ended), "interrupted")
        yield* listen.disconnect
        // The slot is free as soon as the server notices.
        const freed = Effect.map(fetch(listening("again")), (reply) => Effect.as(reply.disconnect, reply.status))
        yield* Effect.repeat(Effect.flatten(freed), { until: (status) => status === 200 })
        yield* Effect.repeat(
          Effect.map(fetch(call("nothing")), ({ status }) => status),
          { until: (status) => status === 200 }
        )
      }
    })
  )
})

describe("A subscription", () => {
  it.live(
    "A subscription is acknowledged first, then notified only of the changes it names",
    () =>
      Effect.gen(function* () {
        const { fetch } = yield* open(adding)
        const tools = yield* fetch(listening("tools"))
        const prompts = yield* fetch(listening("prompts", { promptsListChanged: true }))
        const id = "io.modelcontextprotocol/subscriptionId"
        const acknowledged = yield* tools.next
        assert.strictEqual(acknowledged.method, "notifications/subscriptions/acknowledged")
        assert.deepStrictEqual(acknowledged.params.notifications, { toolsListChanged: true })
        assert.strictEqual(acknowledged.params._meta[id], "tools")
        assert.strictEqual((yield* prompts.next).params._meta[id], "prompts")
        yield* fetch(call("add"))
        const changed = yield* tools.next
        assert.strictEqual(changed.method, "notifications/tools/list_changed")
        assert.strictEqual(changed.params._meta[id], "tools")
        yield* prompts.disconnect
        assert.deepStrictEqual(yield* messages(prompts), [])
      }),
    verifies("subscriptions.acknowledged.first", "subscriptions.filter.only-requested")
  )

  it.live("A silent subscription sends comments", () =>
    Effect.gen(function* () {
      const { fetch } = yield* open(echo, { keepAlive: "1 millis" })
      const reply = yield* fetch(listening(1))
      assert.strictEqual((yield* reply.next).method, "notifications/subscriptions/acknowledged")
      assert.strictEqual(yield* reply.next, ": keep-alive")
      assert.strictEqual(yield* reply.next, ": keep-alive")
    })
  )
})

/** A tool that adds another one. */
const adding = Layer.unwrap(
  Effect.gen(function* () {
    const scope = yield* Scope.Scope
    const added = Tools.layer(Tool.make("added", { description: "Was added." }), () => Effect.succeed("here"))
    const registries = yield* Effect.context<McpServer.Registries>()
    return Tools.layer(Tool.make("add", { description: "Adds." }), () =>
      Effect.as(Effect.provideContext(Layer.buildWithScope(added, scope), registries), "added")
    )
  })
)

describe("Shutdown", () => {
  it.live(
    "Shutdown ends a hundred subscriptions at once, each with a result",
    () =>
      Effect.gen(function* () {
        const { fetch, shutdown } = yield* open(echo)
        const replies = yield* Effect.forEach(
          Array.from({ length: 100 }, (_, id) => id),
          (id) => fetch(listening(id)),
          {
            concurrency: 20
          }
        )
        yield* Effect.forEach(replies, (reply) => reply.next)
        // The server alone would wait 20 seconds for the streams to end.
        assert.isTrue((yield* Effect.timeoutOption(shutdown, "8 seconds"))._tag === "Some")
        for (const [id, reply] of replies.entries()) {
          const [end, ...more] = yield* messages(reply)
          assert.deepStrictEqual(more, [])
          assert.strictEqual(end.id, id)
          assert.strictEqual(end.result._meta["io.modelcontextprotocol/subscriptionId"], id)
        }
      }),
    verifies("subscriptions.end.answered", "subscriptions.end.id")
  )

  it.live("Shutdown lets requests finish and rejects new ones", () =>
    Effect.gen(function* () {
      const { ended, entered, go, tool } = yield* waiting
      const { fetch, shutdown } = yield* open(Layer.merge(tool, echo))
      const reply = yield* fetch(withProgress)
      yield* Queue.take(entered)
      const listen = yield* fetch(listening("end"))
      const down = yield* Effect.forkChild(shutdown, { startImmediately: true })
      yield* messages(listen)
      const refused = yield* fetch(call("echo", { text: "" }))
      assert.strictEqual(refused.status, 503)
      assert.strictEqual((yield* refused.json).error.code, -31503)
      yield* go
      const all = yield* messages(reply)
      assert.strictEqual(all.at(-1).result.content[0].text, "waited")
      assert.strictEqual(yield* Queue.take(ended), "done")
      yield* Fiber.join(down)
    })
  )

  it.live("Shutdown interrupts and answers requests that do not finish", () =>
    Effect.gen(function* () {
      const { ended, entered, tool } = yield* waiting
      const { abandon, fetch, shutdown } = yield* open(tool, { drain: "1 millis" })
      const streaming = yield* fetch(withProgress)
      // A body that never ends. The server has received its beginning once a later request is answered.
      yield* abandon({ headers: { "content-length": 100 }, body: "{" })
      yield* Effect.repeat(fetch(call("nothing")), { times: 5 })
      const silent = yield* Effect.forkChild(fetch(call("wait")), { startImmediately: true })
      yield* Queue.take(entered)
      yield* Queue.take(entered)
      assert.isTrue((yield* Effect.timeoutOption(shutdown, "8 seconds"))._tag === "Some")
      assert.strictEqual((yield* messages(streaming)).at(-1).error.code, -31503)
      assert.strictEqual((yield* (yield* Fiber.join(silent)).json).error.code, -31503)
      assert.strictEqual(yield* Queue.take(ended), "interrupted")
      assert.strictEqual(yield* Queue.take(ended), "interrupted")
    })
  )
})
