/** The requests that a peer sends: answers, timeouts, progress, cancellation. */
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Exit, Fiber } from "effect"
import { TestClock } from "effect/testing"
import * as Peer from "../../src/peer/Peer.ts"
import { lineOf, make, notification, serve as serveWith, quiesce, success } from "../support/wire.ts"
import * as Framing from "../../src/transport/Framing.ts"

const serve = serveWith(() => Effect.never)
const start = <A, E>(effect: Effect.Effect<A, E>) => Effect.forkChild(effect, { startImmediately: true })
const progress = (progressToken: unknown, value: unknown, more: object = {}) =>
  notification("notifications/progress", { progressToken, progress: value, ...more })

describe("Outbound requests", () => {
  it.effect("The `late` callback receives a result after cancellation once, for recent requests only", () =>
    Effect.gen(function* () {
      const { messages, peer, receive } = yield* serve
      const results: Array<unknown> = []
      const late = (result: unknown) => Effect.sync(() => void results.push(result))
      for (let n = 0; n < 65; n++) yield* Fiber.interrupt(yield* start(peer.request("a", {}, { late })))
      const ids = messages().flatMap(({ id, method }) => (method === "a" ? [id] : []))
      assert.lengthOf(ids, 65)
      for (const id of [ids[0], ids[1], ids[64], ids[64]]) receive(success(id, id))
      receive({ jsonrpc: "2.0", id: ids[2], error: { code: 1, message: "no" } })
      receive(success(ids[2], ids[2]))
      yield* quiesce
      assert.deepStrictEqual(results, [ids[1], ids[64]])
    })
  )

  it.effect(
    "An outbound request has a unique id and receives the answer with that id, in any order",
    () =>
      Effect.gen(function* () {
        const { peer, receive, messages } = yield* serve
        const fibers = [yield* start(peer.request("a", { x: 1 })), yield* start(peer.request("b"))]
        const [a, b] = messages()
        assert.notStrictEqual(a.id, b.id)
        assert.deepStrictEqual(a, { jsonrpc: "2.0", id: a.id, method: "a", params: { x: 1 } })
        receive(success(b.id, "b"))
        receive(success(a.id, "a"))
        assert.deepStrictEqual(yield* Fiber.joinAll(fibers), ["a", "b"])
        assert.strictEqual(peer.outstanding(), 0)
      }),
    verifies("json-rpc.request.id-unique")
  )

  it.effect(
    "An id is never reused in a session, however earlier requests ended",
    () =>
      Effect.gen(function* () {
        const { peer, receive, messages } = yield* serve
        const last = () => messages().findLast((message) => message.method !== "notifications/cancelled")
        for (let round = 0; round < 3; round++) {
          // Each ends before the next starts, so that nothing waits in between.
          const answered = yield* start(peer.request("answered"))
          receive(success(last().id))
          yield* Fiber.join(answered)
          const failed = yield* start(Effect.flip(peer.request("failed")))
          receive({ jsonrpc: "2.0", id: last().id, error: { code: 1, message: "no" } })
          yield* Fiber.join(failed)
          yield* Fiber.interrupt(yield* start(peer.request("interrupted")))
          const late = yield* start(Effect.flip(peer.request("late", {}, { timeout: "1 second" })))
          yield* TestClock.adjust("1 second")
          yield* Fiber.join(late)
          // And several at once, of which the first to end is not the last to start.
          const several = [yield* start(peer.request("a")), yield* start(peer.request("b"))]
          const [a, b] = messages().slice(-2)
          receive(success(a.id))
          const more = yield* start(peer.request("c"))
          receive(success(last().id))
          receive(success(b.id))
          yield* Fiber.joinAll([...several, more])
        }
        const ids = messages().flatMap(({ id, method }) => (method === "notifications/cancelled" ? [] : [id]))
        assert.strictEqual(ids.length, 21)
        assert.strictEqual(new Set(ids).size, ids.length)
      }),
    verifies("json-rpc.request.id-unique")
  )

  it.effect("An outbound request fails with its answer's error, including data", () =>
    Effect.gen(function* () {
      const { peer, receive } = yield* serve
      const fiber = yield* start(Effect.flip(peer.request("a")))
      receive({ jsonrpc: "2.0", id: 1, error: { code: -32002, message: "gone", data: { uri: "x" }, extra: 1 } })
      assert.deepInclude(yield* Fiber.join(fiber), {
        _tag: "McpError",
        code: -32002,
        message: "gone",
        data: { uri: "x" }
      })
    })
  )

  for (const error of [{ code: 1e300, message: "huge" }, { code: "1", message: "m" }, { code: 1 }, null, "no"]) {
    it.effect(`An outbound request fails on the malformed error ${JSON.stringify(error)}, and the peer continues`, () =>
      Effect.gen(function* () {
        const { peer, push, messages } = yield* serve
        const fiber = yield* start(Effect.flip(peer.request("a")))
        push({ jsonrpc: "2.0", id: 1, error })
        assert.strictEqual((yield* Fiber.join(fiber))._tag, "McpError")
        push({ jsonrpc: "2.0", id: 9, method: "ping" })
        yield* quiesce
        assert.deepStrictEqual(messages().at(-1), success(9))
      })
    )
  }

  it.effect("Answers with an id of another type, duplicate answers and errors without an id are ignored", () =>
    Effect.gen(function* () {
      const { peer, receive, dropped } = yield* serve
      const fiber = yield* start(peer.request("a"))
      receive(success("1", "wrong"))
      receive({ jsonrpc: "2.0", id: null, error: { code: -32700, message: "Parse error" } })
      receive({ jsonrpc: "2.0", error: { code: -32700, message: "Parse error" } })
      receive(success(1, "right"))
      receive(success(1, "late"))
      assert.strictEqual(yield* Fiber.join(fiber), "right")
      assert.strictEqual(dropped.length, 4)
    })
  )

  it.effect("An answer that arrives before `send` returns is accepted", () =>
    Effect.gen(function* () {
      const peer: Peer.Peer = yield* Peer.make(
        {
          incoming: yield* Effect.succeed((yield* serve).transport.incoming),
          broken: Effect.never,
          sink: {
            send: (message) => {
              if ("id" in message && "method" in message)
                peer.receive(Framing.decode(lineOf(success(message.id, "now"))))
            },
            writable: () => true,
            ready: Effect.void
          }
        },
        { request: () => Effect.never, notification: () => {} }
      )
      assert.strictEqual(yield* peer.request("a"), "now")
    })
  )

  it.effect("Non-JSON params are a defect of the caller and leave nothing behind", () =>
    Effect.gen(function* () {
      const { peer, messages } = yield* serve
      const exit = yield* Effect.exit(peer.request("a", { big: 1n }, { timeout: "1 minute" }))
      assert.isTrue(Exit.hasDies(exit))
      assert.strictEqual(peer.outstanding(), 0)
      assert.deepStrictEqual(messages(), [])
    })
  )

  it.effect("An outbound request and its cancellation carry the id of the related request", () =>
    Effect.gen(function* () {
      const { peer, sent } = yield* serve
      const fiber = yield* start(peer.request("a", {}, { relatedTo: "in" }))
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(
        sent.map(({ lane, relatedTo }) => [lane, relatedTo]),
        [
          ["data", "in"],
          ["control", "in"]
        ]
      )
    })
  )
})

describe("Interrupting the caller", () => {
  it.effect(
    "Interrupting the caller sends one cancellation, and the late answer is ignored",
    () =>
      Effect.gen(function* () {
        const { peer, receive, messages, dropped } = yield* serve
        const fiber = yield* start(peer.request("a"))
        yield* Fiber.interrupt(fiber)
        receive(success(1, "late"))
        assert.strictEqual(messages().length, 2)
        assert.deepInclude(messages()[1], { method: "notifications/cancelled" })
        assert.strictEqual(messages()[1].params.requestId, 1)
        assert.strictEqual(dropped.length, 1)
        assert.strictEqual(peer.outstanding(), 0)
      }),
    verifies(
      "cancellation.notification.request-id",
      "cancellation.sender.own-request",
      "cancellation.sender.ignores-late-response"
    )
  )

  it.effect(
    "Interrupting the caller sends no cancellation once the request is answered",
    () =>
      Effect.gen(function* () {
        const { peer, receive, messages } = yield* serve
        const fiber = yield* start(peer.request("a"))
        receive(success(1))
        yield* Fiber.interrupt(fiber)
        assert.strictEqual(messages().length, 1)
      }),
    verifies("cancellation.sender.in-progress")
  )

  it.effect(
    "Interrupting the caller sends no cancellation if the request is not cancellable",
    () =>
      Effect.gen(function* () {
        const { peer, messages } = yield* serve
        const fiber = yield* start(peer.request("initialize", {}, { cancellable: false }))
        yield* Fiber.interrupt(fiber)
        assert.strictEqual(messages().length, 1)
        assert.strictEqual(peer.outstanding(), 0)
      }),
    verifies("cancellation.initialize-not-cancelled")
  )

  it.effect("Interrupting the caller sends no cancellation for a request that was never sent", () =>
    Effect.gen(function* () {
      const { peer, setWritable, messages } = yield* serve
      setWritable(false)
      const fiber = yield* start(peer.request("a"))
      yield* Fiber.interrupt(fiber)
      setWritable(true)
      yield* quiesce
      assert.deepStrictEqual(messages(), [])
    })
  )

  it.effect("Interrupting the caller does not wait for room: cancellations use the control lane", () =>
    Effect.gen(function* () {
      const { peer, setWritable, sent } = yield* serve
      const fiber = yield* start(peer.request("a"))
      setWritable(false)
      yield* Fiber.interrupt(fiber)
      assert.strictEqual(sent.at(-1)?.lane, "control")
    })
  )
})

describe("Timeouts", () => {
  it.effect("A request times out even if sending its cancellation throws", () =>
    Effect.gen(function* () {
      const { transport } = make()
      const send = (message: object): void => {
        if ("method" in message && message.method === "notifications/cancelled") throw new Error("sink")
      }
      const sink = { ...transport.sink, send }
      const handlers = { request: () => Effect.succeed({}), notification: () => {} }
      const peer = yield* Peer.make({ ...transport, sink }, handlers)
      for (const names of [["a", "b"], ["c"]]) {
        const late = names.map((name) => peer.request(name, {}, { timeout: "10 seconds" }))
        const fibers = yield* Effect.forEach(late, (one) => start(Effect.flip(one)))
        yield* TestClock.adjust("10 seconds")
        assert.deepStrictEqual(
          fibers.map((fiber) => fiber.pollUnsafe()?._tag === "Success"),
          names.map(() => true)
        )
      }
    })
  )

  it.effect("A timeout fails the call on time and cancels the request on the remote side", () =>
    Effect.gen(function* () {
      const { peer, messages } = yield* serve
      const fiber = yield* start(Effect.flip(peer.request("a", {}, { timeout: "10 seconds" })))
      yield* TestClock.adjust("9999 millis")
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust("1 millis")
      assert.deepInclude(yield* Fiber.join(fiber), { _tag: "Timeout", method: "a" })
      assert.strictEqual(messages()[1].method, "notifications/cancelled")
      assert.strictEqual(peer.outstanding(), 0)
    })
  )

  it.effect("A timeout of initialize fails the call without sending a cancellation", () =>
    Effect.gen(function* () {
      const { peer, messages } = yield* serve
      const options = { timeout: "1 second", cancellable: false } as const
      const fiber = yield* start(Effect.flip(peer.request("initialize", {}, options)))
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* Fiber.join(fiber))._tag, "Timeout")
      assert.strictEqual(messages().length, 1)
    })
  )

  it.effect("Every progress event restarts the timeout, up to the hard limit", () =>
    Effect.gen(function* () {
      const { peer, receive } = yield* serve
      const fiber = yield* start(
        Effect.flip(peer.request("a", {}, { timeout: "10 seconds", maxTotal: "25 seconds", onProgress: () => {} }))
      )
      for (const value of [1, 2, 3]) {
        yield* TestClock.adjust("8 seconds")
        receive(progress(1, value))
      }
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust("999 millis")
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust("1 millis")
      assert.strictEqual((yield* Fiber.join(fiber))._tag, "Timeout")
    })
  )

  it.effect("The timeout counts from the last progress event", () =>
    Effect.gen(function* () {
      const { peer, receive } = yield* serve
      const fiber = yield* start(Effect.flip(peer.request("a", {}, { timeout: "10 seconds", onProgress: () => {} })))
      yield* TestClock.adjust("9 seconds")
      receive(progress(1, 1))
      yield* TestClock.adjust("9999 millis")
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust("1 millis")
      assert.isDefined(fiber.pollUnsafe())
    })
  )

  it.effect("Progress does not restart the timeout if resetOnProgress is false", () =>
    Effect.gen(function* () {
      const { peer, receive } = yield* serve
      const fiber = yield* start(
        Effect.flip(peer.request("a", {}, { timeout: "10 seconds", resetOnProgress: false, onProgress: () => {} }))
      )
      yield* TestClock.adjust("9 seconds")
      receive(progress(1, 1))
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* Fiber.join(fiber))._tag, "Timeout")
    })
  )

  it.effect("Each request has its own timeout, regardless of sending order", () =>
    Effect.gen(function* () {
      const { peer, messages } = yield* serve
      const ended: Array<string> = []
      const ask = (method: string, timeout: number) =>
        Effect.ensuring(
          Effect.flip(peer.request(method, {}, { timeout })),
          Effect.sync(() => ended.push(method))
        )
      const patient = yield* start(peer.request("for ever"))
      const asked: ReadonlyArray<readonly [string, number]> = [
        ["third", 30_000],
        ["first", 10],
        ["fourth", 30_001],
        ["second", 20_000]
      ]
      for (const [method, timeout] of asked) yield* start(ask(method, timeout))
      yield* TestClock.adjust("29999 millis")
      assert.deepStrictEqual(ended, ["first", "second"])
      yield* TestClock.adjust("2 millis")
      assert.deepStrictEqual(ended, ["first", "second", "third", "fourth"])
      const late = yield* start(ask("late", 5))
      yield* TestClock.adjust("5 millis")
      assert.isDefined(late.pollUnsafe())
      assert.isUndefined(patient.pollUnsafe())
      assert.strictEqual(messages().filter(({ method }) => method === "notifications/cancelled").length, 5)
    })
  )

  it.effect("All timeouts share one timer, which ends a second after the last request", () =>
    Effect.gen(function* () {
      const clock = yield* Clock.Clock
      const timers = new Set<object>()
      const sleep: Clock.Clock["sleep"] = (duration) =>
        Effect.suspend(() => {
          const timer = { duration }
          timers.add(timer)
          return Effect.ensuring(
            clock.sleep(duration),
            Effect.sync(() => timers.delete(timer))
          )
        })
      const counting: Clock.Clock = Object.assign(Object.create(clock), { sleep })
      const { peer, receive } = yield* Effect.provideService(serve, Clock.Clock, counting)
      for (const id of [1, 2, 3]) yield* start(peer.request("a", {}, { timeout: `${id} minutes` }))
      assert.strictEqual(timers.size, 1)
      for (const id of [1, 2, 3]) receive(success(id))
      yield* start(peer.request("a", {}, { timeout: "1 minute" }))
      assert.strictEqual(timers.size, 1)
      yield* TestClock.adjust("1 second")
      assert.strictEqual(timers.size, 1)
      receive(success(4))
      yield* TestClock.adjust("1 second")
      assert.strictEqual(timers.size, 0)
    })
  )

  it.effect("A timeout of 0 sends the cancellation after the request", () =>
    Effect.gen(function* () {
      const { peer, messages } = yield* serve
      const fiber = yield* start(Effect.flip(peer.request("a", {}, { timeout: 0 })))
      assert.strictEqual((yield* Fiber.join(fiber))._tag, "Timeout")
      assert.deepStrictEqual(
        messages().map(({ method }) => method),
        ["a", "notifications/cancelled"]
      )
    })
  )

  for (const [first, second] of [
    [1, 1],
    [2, 1],
    [1, 30]
  ] as const) {
    it.effect(`A request timing out ${second} s after a timeout at ${first} s also fails on time`, () =>
      Effect.gen(function* () {
        const { peer } = yield* serve
        const ask = (seconds: number) => Effect.flip(peer.request("a", {}, { timeout: `${seconds} seconds` }))
        const fiber = yield* start(Effect.andThen(ask(first), ask(second)))
        yield* TestClock.adjust(`${first} seconds`)
        assert.strictEqual(peer.outstanding(), 1)
        yield* TestClock.adjust(`${second} seconds`)
        assert.strictEqual(peer.outstanding(), 0)
        assert.strictEqual((yield* Fiber.join(fiber))._tag, "Timeout")
      })
    )
  }

  it.effect("A request without a progress handler also has a hard limit", () =>
    Effect.gen(function* () {
      const { peer } = yield* serve
      const fiber = yield* start(Effect.flip(peer.request("a", {}, { maxTotal: "3 seconds" })))
      yield* TestClock.adjust("3 seconds")
      assert.strictEqual((yield* Fiber.join(fiber))._tag, "Timeout")
    })
  )
})

describe("Progress", () => {
  it.effect(
    "Progress has a unique token and arrives in order",
    () =>
      Effect.gen(function* () {
        const { peer, receive, messages } = yield* serve
        const events: Array<unknown> = []
        const options = { onProgress: (event: unknown) => void events.push(event) }
        yield* start(peer.request("a", { _meta: { trace: "t" }, x: 1 }, options))
        yield* start(peer.request("b", undefined, options))
        const [a, b] = messages()
        assert.deepStrictEqual(a.params, { x: 1, _meta: { trace: "t", progressToken: a.id } })
        assert.notStrictEqual(a.params._meta.progressToken, b.params._meta.progressToken)
        receive(progress(a.id, 1, { total: 2, message: "half" }))
        receive(progress(b.id, 5))
        receive(progress(a.id, 2, { total: "x", message: 3 }))
        assert.deepStrictEqual(events, [
          { progressToken: a.id, progress: 1, total: 2, message: "half" },
          { progressToken: b.id, progress: 5 },
          { progressToken: a.id, progress: 2 }
        ])
      }),
    verifies("progress.token.unique", "progress.token.type")
  )

  it.effect(
    "Progress for an unknown or finished request is dropped",
    () =>
      Effect.gen(function* () {
        const { peer, receive, messages } = yield* serve
        const events: Array<unknown> = []
        yield* start(peer.request("a", {}, { onProgress: (event) => void events.push(event) }))
        yield* start(peer.request("b"))
        receive(progress(2, 1))
        receive(progress(77, 1))
        receive(progress("1", 1))
        receive(progress(1, "1"))
        receive(progress({}, 1))
        receive(success(1))
        receive(progress(1, 9))
        assert.deepStrictEqual(events, [])
        assert.strictEqual(messages().length, 2)
      }),
    verifies("progress.token.tracked")
  )
})
