/** HTTP with SSE: keep-alive, slow readers, and the end of a stream. */
import * as Elicitation from "@effect-mcp/core/Elicitation"
import * as Progress from "@effect-mcp/core/Progress"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Layer, Option, Queue } from "effect"
import { TestClock } from "effect/testing"
import { callOf, type Connected, open, request } from "./support/sse.ts"

/** A tool that waits; `ended` records how each call ended. */
const waiting = Effect.gen(function* () {
  const entered = yield* Queue.unbounded<void>()
  const ended = yield* Queue.unbounded<"interrupted" | "done">()
  const go = yield* Deferred.make<void>()
  const tool = Tools.layer(
    Tool.make("wait", { description: "Waits." }),
    Effect.fnUntraced(function* () {
      yield* Effect.addFinalizer((exit) => Queue.offer(ended, Exit.isSuccess(exit) ? "done" : "interrupted"))
      yield* Queue.offer(entered, undefined)
      yield* Deferred.await(go)
      return "waited"
    })
  )
  return { entered, ended, go: Deferred.succeed(go, undefined), tool }
})

/** Reports a lot of progress; `reported` counts the reports. */
const flooding = (last: number) => {
  const state = { reported: 0 }
  const tool = Tools.layer(
    Tool.make("flood", { description: "Says much." }),
    Effect.fnUntraced(function* () {
      for (let step = 1; step <= last; step++) {
        yield* Progress.report(step, { message: "x".repeat(16 * 1024) })
        state.reported = step
      }
      return "done"
    })
  )
  return { state, tool }
}
const flood = callOf("flood", { progressToken: "p" }, "f")
/** Large answers, which are sent without waiting for room. */
const big = Tools.layer(Tool.make("big", { description: "Answers much." }), () => Effect.succeed("x".repeat(1_000_000)))
const quick = Tools.layer(Tool.make("quick", { description: "Answers." }), () => Effect.succeed("quick"))

const ready = (client: Connected) => Effect.as(client.initialize(), client)
const none = { until: (sessions: ReadonlyArray<unknown>) => sessions.length === 0 }

describe("HTTP with SSE streams", () => {
  it.effect("A silent stream sends comments at the keep-alive interval", () =>
    Effect.gen(function* () {
      const { connect } = yield* open(quick, { keepAlive: "15 seconds" })
      const client = yield* connect()
      yield* TestClock.adjust("15 seconds")
      assert.strictEqual(yield* client.next, ": keep-alive")
      yield* TestClock.adjust("10 seconds")
      yield* client.initialize()
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual((yield* client.ask("ping", {}, "p")).id, "p")
      yield* TestClock.adjust("15 seconds")
      assert.strictEqual(yield* client.next, ": keep-alive")
    })
  )

  it.live("Server questions are sent as events and answered by POST", () =>
    Effect.gen(function* () {
      const ask = Tools.layer(
        Tool.make("ask", { description: "Asks." }),
        Effect.fnUntraced(function* () {
          yield* Elicitation.confirm("Really?")
          return "asked"
        })
      )
      const { connect } = yield* open(ask)
      const client = yield* connect()
      yield* client.initialize("2025-06-18", { elicitation: {} })
      const question = yield* Effect.andThen(client.post(callOf("ask", {}, "a")), client.message)
      assert.strictEqual(question.method, "elicitation/create")
      const [name = ""] = Object.keys(question.params.requestedSchema.properties)
      yield* client.post({ jsonrpc: "2.0", id: question.id, result: { action: "accept", content: { [name]: true } } })
      const answer = yield* client.message
      assert.deepStrictEqual([answer.id, answer.result.content[0].text], ["a", "asked"])
    })
  )
})

describe("HTTP with SSE clients that disconnect", () => {
  it.live("A disconnecting client ends only its own session and requests", () =>
    Effect.gen(function* () {
      const { ended, entered, go, tool } = yield* waiting
      const { connect, server } = yield* open(tool)
      const stays = yield* Effect.flatMap(connect(), ready)
      const leaves = yield* Effect.flatMap(connect(), ready)
      yield* stays.post(callOf("wait", {}, "s"))
      for (const id of [1, 2, 3]) yield* leaves.post(callOf("wait", {}, id))
      yield* Queue.takeN(entered, 4)
      yield* leaves.disconnect
      assert.deepStrictEqual(yield* Queue.takeN(ended, 3), ["interrupted", "interrupted", "interrupted"])
      yield* Effect.repeat(server.sessions, { until: (sessions) => sessions.length === 1 })
      yield* go
      assert.strictEqual((yield* stays.message).result.content[0].text, "waited")
    })
  )

  it.live("A client that disconnects at any point leaves no session or handler behind", () =>
    Effect.gen(function* () {
      const { ended, entered, tool } = yield* waiting
      const { connect, fetch, server } = yield* open(tool, { sessions: 1 })
      // The slot is free as soon as the server notices.
      const free = Effect.repeat(server.sessions, none)
      for (let round = 0; round < 30; round++) {
        const idle = yield* Effect.repeat(fetch({}), { until: ({ status }) => status === 200 })
        yield* idle.disconnect
        yield* free
        const client = yield* Effect.flatMap(connect(), ready)
        yield* client.post(callOf("wait"))
        yield* Queue.take(entered)
        yield* client.disconnect
        assert.strictEqual(yield* Queue.take(ended), "interrupted")
        yield* free
      }
    })
  )
})

describe("HTTP with SSE clients that stop reading", () => {
  it.live("A stalled client suspends only its own handler and loses no event", () =>
    Effect.gen(function* () {
      const last = 1000
      const { state, tool } = flooding(last)
      const { connect, fetch } = yield* open(Layer.merge(tool, quick))
      const other = yield* Effect.flatMap(connect(), ready)
      const slow = yield* Effect.flatMap(connect(), ready)
      yield* slow.pause
      yield* slow.post(flood)
      for (let round = 0; round < 50; round++) {
        assert.strictEqual((yield* other.ask("tools/call", { name: "quick" })).result.content[0].text, "quick")
      }
      assert.strictEqual((yield* fetch({})).status, 200)
      assert.isBelow(state.reported, last / 2)
      yield* slow.resume
      for (let step = 1; step <= last; step++) assert.strictEqual((yield* slow.message).params.progress, step)
      assert.strictEqual((yield* slow.message).result.content[0].text, "done")
      assert.strictEqual(state.reported, last)
    })
  )

  it.live("A client with too many unread answers is disconnected and its requests are interrupted", () =>
    Effect.gen(function* () {
      const { ended, entered, tool } = yield* waiting
      const { connect, server } = yield* open(Layer.merge(tool, big), { controlCap: 2_000_000 })
      const slow = yield* Effect.flatMap(connect(), ready)
      yield* slow.pause
      yield* slow.post(callOf("wait", {}, "w"))
      yield* Queue.take(entered)
      const post = (id: number) => Effect.map(slow.post(callOf("big", {}, id)), ({ status }) => status)
      let id = 0
      yield* Effect.repeat(
        Effect.suspend(() => post(++id)),
        { until: (status) => status === 404, times: 100 }
      )
      assert.strictEqual(yield* Queue.take(ended), "interrupted")
      yield* Effect.repeat(server.sessions, none)
      yield* slow.resume
      // The response was cut off: it did not end like a complete body.
      assert.isFalse(yield* slow.complete)
    })
  )

  it.live("A caller with too many unread answers loses only its own oldest session", () =>
    Effect.gen(function* () {
      const { connect, server } = yield* open(Layer.merge(big, quick), { answerBytes: 4_000_000 })
      const pausing = (client: Connected) => Effect.as(client.pause, client)
      const other = yield* Effect.flatMap(connect({ localAddress: "127.0.0.2" }), ready)
      const oldest = yield* Effect.flatMap(Effect.flatMap(connect(), ready), pausing)
      const newest = yield* Effect.flatMap(Effect.flatMap(connect(), ready), pausing)
      const post = (client: Connected) => Effect.map(client.post(callOf("big")), ({ status }) => status)
      yield* Effect.repeat(post(oldest), { times: 14 })
      yield* Effect.repeat(
        Effect.suspend(() => post(newest)),
        { until: () => Effect.map(server.sessions, ({ length }) => length === 2), times: 100 }
      )
      assert.strictEqual(yield* post(oldest), 404)
      assert.strictEqual(yield* post(newest), 202)
      yield* newest.resume
      assert.strictEqual((yield* newest.message).result.content[0].text.length, 1_000_000)
      assert.strictEqual((yield* other.ask("tools/call", { name: "quick" })).result.content[0].text, "quick")
      yield* oldest.resume
      assert.isFalse(yield* oldest.complete)
    })
  )
})

describe("HTTP with SSE shutdown", () => {
  it.live("Shutdown ends a hundred idle streams at once, in order", () =>
    Effect.gen(function* () {
      const { connect, shutdown } = yield* open(quick)
      const clients = yield* Effect.all(
        Array.from({ length: 100 }, () => Effect.flatMap(connect(), ready)),
        { concurrency: 10 }
      )
      // An HTTP server alone would wait for 20 seconds.
      assert.isTrue(Option.isSome(yield* Effect.timeoutOption(shutdown, "8 seconds")))
      for (const client of clients) assert.isTrue(yield* client.complete)
    })
  )

  it.live("Shutdown interrupts slow requests and answers them before the stream ends", () =>
    Effect.gen(function* () {
      const { ended, entered, tool } = yield* waiting
      const { connect, shutdown } = yield* open(tool, { drain: "1 millis" })
      const client = yield* Effect.flatMap(connect(), ready)
      yield* client.post(callOf("wait", {}, "w"))
      yield* Queue.take(entered)
      const down = yield* Effect.forkChild(shutdown, { startImmediately: true })
      const { error, id } = yield* client.message
      assert.deepStrictEqual([id, error.code], ["w", -31503])
      assert.isTrue(yield* client.complete)
      assert.strictEqual(yield* Queue.take(ended), "interrupted")
      yield* Fiber.join(down)
    })
  )

  it.live("Shutdown does not wait for a client that stopped reading", () =>
    Effect.gen(function* () {
      const { state, tool } = flooding(1000)
      const { connect, shutdown } = yield* open(Layer.merge(tool, quick), { drain: "1 millis" })
      const slow = yield* Effect.flatMap(connect(), ready)
      const other = yield* Effect.flatMap(connect(), ready)
      yield* slow.pause
      yield* slow.post(flood)
      yield* other.ask("ping")
      yield* Effect.repeat(other.ask("ping"), { until: () => state.reported > 50 })
      assert.isTrue(Option.isSome(yield* Effect.timeoutOption(shutdown, "8 seconds")))
      assert.isTrue(yield* other.complete)
    })
  )

  it.live("Shutdown ends a session that is still opening", () =>
    Effect.gen(function* () {
      const { connect, shutdown } = yield* open(quick)
      const client = yield* connect()
      yield* client.post(request("ping"))
      yield* shutdown
      assert.isTrue(yield* client.complete)
    })
  )
})
