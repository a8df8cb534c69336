/** Shutdown of an endpoint with sessions, which leaves nothing of a session behind. */
import * as Progress from "@effect-mcp/core/Progress"
import * as Roots from "@effect-mcp/core/Roots"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import * as McpError from "@effect-mcp/protocol/McpError"
import { EventStore, makeMemory } from "@effect-mcp/server/EventStore"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Fiber, Latch, Layer, Metric, Queue } from "effect"
import { TestClock } from "effect/testing"
import { HttpServers } from "../../src/http/request/HttpServers.ts"
import { closings } from "../support/closings.ts"
import { make } from "./support/endpoint.ts"
import { echo, open } from "./support/http.ts"
import * as Puppet from "./support/puppet.ts"
import { callOf, eventsOf, initialize, openSession, revisions, saidOf } from "./support/session.ts"

describe("Shutdown with open sessions", () => {
  it.live.each(closings)(
    "Shutdown finishes requests, questions and resumed streams, and rejects new requests%s",
    ([, by]) =>
      Effect.gen(function* () {
        const puppet = yield* Puppet.make
        const client = yield* open(Layer.merge(puppet.layer, echo))
        const session = yield* openSession(client)
        const stream = yield* session.get()
        yield* puppet.tell("asks", Effect.asVoid(Roots.list))
        const asks = yield* session.call("puppet", { name: "asks" }, 1)
        const { data: question } = yield* Effect.repeat(asks.event, { until: ({ data }) => data !== "" })
        const away = yield* Effect.andThen(
          puppet.tell("away", Puppet.leave()),
          session.call("puppet", { name: "away" }, 2)
        )
        const [{ id } = {}] = yield* eventsOf(away)

        const down = yield* Effect.forkChild(by(client.shutdown), { startImmediately: true })
        assert.deepStrictEqual(saidOf(yield* eventsOf(stream)), [])
        const refused = yield* session.call("echo", { text: "" }, 3)
        assert.deepStrictEqual([refused.status, (yield* refused.json).error.code], [503, McpError.Interrupted])
        assert.strictEqual((yield* client.fetch({ body: JSON.stringify(initialize("2025-11-25")) })).status, 503)
        assert.strictEqual((yield* session.get()).status, 503)
        assert.strictEqual((yield* session.respond(question.id, { roots: [] })).status, 202)
        const back = yield* session.get(id)
        for (const name of ["asks", "away"]) yield* puppet.tell(name, Puppet.answer(name))
        for (const [reply, name] of [
          [asks, "asks"],
          [back, "away"]
        ] as const) {
          assert.strictEqual(saidOf(yield* eventsOf(reply)).at(-1).result.content[0].text, name)
        }
        yield* Fiber.join(down)
      })
  )

  it.live("Shutdown interrupts and answers requests that do not finish in time", () =>
    Effect.gen(function* () {
      const puppet = yield* Puppet.make
      const client = yield* open(puppet.layer, { drain: "1 millis" })
      const session = yield* openSession(client, "2025-06-18")
      yield* puppet.tell("streams", Progress.report(1))
      const streaming = yield* session.follow("puppet", { name: "streams" }, 1)
      const silent = yield* Effect.forkChild(session.call("puppet", { name: "silent" }, 2), { startImmediately: true })
      yield* Queue.takeN(puppet.entered, 2)
      assert.isTrue((yield* Effect.timeoutOption(client.shutdown, "8 seconds"))._tag === "Some")
      const error = { code: McpError.Interrupted, message: "The server is shutting down" }
      assert.deepStrictEqual(saidOf(yield* eventsOf(streaming)).at(-1).error, error)
      assert.deepStrictEqual((yield* (yield* Fiber.join(silent)).json).error, error)
    })
  )

  it.live("Shutdown waits for an uninterruptible handler and keeps its services alive", () =>
    Effect.gen(function* () {
      const [begun, gate] = [yield* Latch.make(), yield* Latch.make()]
      const said: Array<string> = []
      const used = Layer.effectDiscard(Effect.addFinalizer(() => Effect.sync(() => void said.push("released"))))
      const pay = Tools.layer(Tool.make("pay", { description: "Must be finished." }), () =>
        Effect.uninterruptible(
          Effect.gen(function* () {
            yield* begun.open
            yield* gate.await
            said.push("paid")
            return "paid"
          })
        )
      )
      const client = yield* open(Layer.provideMerge(pay, used), { drain: "1 millis" })
      const session = yield* openSession(client)
      yield* Effect.forkScoped(session.call("pay"))
      yield* begun.await
      const down = yield* Effect.forkChild(client.shutdown, { startImmediately: true })
      // Enough turns to be told to stop.
      for (let turn = 0; turn < 200; turn++) yield* Effect.promise(() => new Promise(setImmediate))
      assert.isUndefined(down.pollUnsafe())
      assert.deepStrictEqual(said, [])
      yield* gate.open
      yield* Fiber.join(down)
      assert.deepStrictEqual(said, ["paid", "released"])
    })
  )

  it.live("Shutdown cleanly ends hundreds of open streams at once", () =>
    Effect.gen(function* () {
      const client = yield* open(echo)
      const streams = yield* Effect.forEach(
        Array.from({ length: 400 }),
        () => Effect.flatMap(openSession(client), ({ get }) => get()),
        { concurrency: 25 }
      )
      assert.isTrue((yield* Effect.timeoutOption(client.shutdown, "8 seconds"))._tag === "Some")
      for (const stream of streams) assert.deepStrictEqual(saidOf(yield* eventsOf(stream)), [])
    })
  )
})

describe("Shutdown with `lameDuck`", () => {
  it.effect("Serves everything during `lameDuck`, then rejects new requests", () =>
    Effect.gen(function* () {
      const endpoint = yield* make(echo, { lameDuck: "5 seconds" })
      const opening = Effect.map(endpoint.ask({ body: initialize("2025-11-25") }), ({ status }) => status)
      const ending = yield* Effect.forkChild(endpoint.end(new HttpServers()), { startImmediately: true })
      yield* TestClock.adjust("4999 millis")
      assert.strictEqual(yield* opening, 200)
      yield* TestClock.adjust("1 millis")
      assert.strictEqual(yield* opening, 503)
      yield* TestClock.adjust("20 seconds")
      yield* Fiber.join(ending)
    })
  )
})

/** Counts the timers that this process starts from now on, without the timers of Node's `fetch`. */
const countTimers = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => {
      const { clearTimeout, setTimeout } = globalThis
      const waiting = new Set<unknown>()
      const start = (callback: (...args: ReadonlyArray<unknown>) => void, ...rest: ReadonlyArray<unknown>) => {
        const timer: unknown = Reflect.apply(setTimeout, undefined, [
          (...args: ReadonlyArray<unknown>) => {
            waiting.delete(timer)
            callback(...args)
          },
          ...rest
        ])
        waiting.add(timer)
        return timer
      }
      const clear: typeof clearTimeout = (timer) => {
        waiting.delete(timer)
        clearTimeout(timer)
      }
      Object.assign(globalThis, { setTimeout: start, clearTimeout: clear })
      return { count: () => waiting.size, restore: () => Object.assign(globalThis, { setTimeout, clearTimeout }) }
    }),
    ({ restore }) => Effect.sync(restore)
  ),
  ({ count }) => count
)

/** Runs timers and fibers until the condition holds, or the test times out. */
const become = (is: () => boolean) =>
  Effect.repeat(
    Effect.promise(() => new Promise(setImmediate)),
    { until: is }
  )

describe("Ended sessions", () => {
  it.live("An ended session leaks no session, handler, event or timer", () =>
    Effect.gen(function* () {
      const memory = makeMemory()
      const kept = new Set<string>()
      const store = Layer.succeed(EventStore, {
        ...memory,
        append: (key, events) =>
          Effect.andThen(
            Effect.sync(() => kept.add(key.session)),
            memory.append(key, events)
          ),
        forget: (session, stream) =>
          Effect.andThen(
            Effect.sync(() => void (stream === undefined && kept.delete(session))),
            memory.forget(session, stream)
          )
      })
      const timers = yield* countTimers
      const puppet = yield* Puppet.make
      const client = yield* open(Layer.merge(puppet.layer, echo), { store })
      const use = Effect.fnUntraced(function* (version: (typeof revisions)[number]) {
        const session = yield* openSession(client, version)
        const stream = yield* session.get()
        yield* session.call("echo", { text: "" })
        yield* puppet.tell("runs", Progress.report(1))
        const running = yield* session.follow("puppet", { name: "runs" }, 1)
        yield* running.event
        yield* puppet.tell("cut", Progress.report(1))
        const cut = yield* session.follow("puppet", { name: "cut" }, 2)
        yield* cut.event
        yield* cut.disconnect
        yield* session.delete
        yield* eventsOf(running)
        yield* eventsOf(stream)
        const ended = yield* Queue.takeN(puppet.ended, 2)
        assert.deepStrictEqual(
          ended.map(([, how]) => how),
          ["interrupted", "interrupted"]
        )
      })
      // The endpoint's timers start with its first session.
      yield* Effect.forEach(revisions, use)
      const before = timers()
      for (const version of revisions) yield* Effect.repeat(use(version), { times: 9 })
      assert.deepStrictEqual(yield* client.server.sessions, [])
      yield* become(() => kept.size === 0)
      // The stream timer keeps running for a second after the last stream.
      yield* become(() => timers() <= before)
    })
  )
})

describe("Session fibers", () => {
  /** Fibers of client and server that are alive. */
  let fibers = 0
  const counting = Context.make(Metric.FiberRuntimeMetrics, {
    recordFiberStart: () => void fibers++,
    recordFiberEnd: () => void fibers--
  })
  const becomes = (count: number) =>
    Effect.repeat(
      Effect.promise(() => new Promise(setImmediate)),
      { until: () => fibers === count, times: 200 }
    )

  it.effect("An idle session has no fiber, nor does an ended one", () =>
    Effect.gen(function* () {
      const puppet = yield* Puppet.make
      const bare = fibers
      const client = yield* open(Layer.merge(puppet.layer, echo), { drain: "1 second" })
      // Fibers that the first use starts, and the warning of the TestClock.
      yield* Effect.flatMap(openSession(client), (session) => session.delete)
      yield* becomes(-1)
      yield* TestClock.adjust("2 minutes")
      yield* becomes(-1)
      const none = fibers
      const busy = Effect.gen(function* () {
        const session = yield* openSession(client)
        yield* session.get()
        for (const name of ["runs", "cut"]) yield* puppet.tell(name, Progress.report(1))
        yield* session.follow("puppet", { name: "runs" }, 1)
        const cut = yield* session.follow("puppet", { name: "cut" }, 2)
        yield* cut.event
        yield* cut.disconnect
        yield* session.abandon({ body: JSON.stringify(callOf("puppet", { name: "silent" }, 3)) })
        yield* Queue.takeN(puppet.entered, 3)
        return session
      })

      // The fiber that watches all sessions starts with the first session.
      yield* openSession(client)
      yield* becomes(-1)
      const watching = fibers
      const idle = yield* openSession(client)
      yield* idle.call("echo", { text: "" })
      yield* becomes(watching)
      assert.strictEqual(fibers, watching)
      yield* TestClock.adjust("32 minutes")
      yield* becomes(none)
      assert.strictEqual(fibers, none)

      yield* Effect.scoped(Effect.flatMap(busy, (session) => session.delete))
      yield* becomes(-1)
      yield* TestClock.adjust("2 minutes")
      yield* becomes(none)
      assert.strictEqual(fibers, none)

      yield* busy
      const down = yield* Effect.forkChild(client.shutdown, { startImmediately: true })
      yield* Effect.repeat(TestClock.adjust("1 second"), { until: () => down.pollUnsafe() !== undefined, times: 30 })
      yield* Fiber.join(down)
      yield* becomes(bare)
      assert.strictEqual(fibers, bare)
    }).pipe(Effect.scoped, Effect.provideContext(counting))
  )
})
