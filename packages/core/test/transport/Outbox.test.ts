/**
 * Rule 2: one writer per connection over a byte-counted outbox. Order is kept, the control lane is capped, and a slow reader costs bounded
 * memory.
 */
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Queue, Scope, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as Outbox from "../../src/transport/Outbox.ts"
import * as Peer from "../../src/peer/Peer.ts"
import * as Progress from "../../src/request/Progress.ts"
import { TransportError } from "../../src/transport/Transport.ts"
import { request, quiesce } from "../support/wire.ts"
import * as Framing from "../../src/transport/Framing.ts"

const note = (n: number, padding = "") => JsonRpc.notification("n", { n, padding })
const answer = (n: number, padding = "") => JsonRpc.success(n, { padding })

/** An outbox whose writer accepts one write whenever the test allows it. */
const gated = Effect.fnUntraced(function* (options?: Outbox.Options) {
  const gate = yield* Queue.unbounded<void>()
  const writes: Array<ReadonlyArray<any>> = []
  const outbox = yield* Outbox.make(
    Stream.runForEach((text) =>
      Effect.as(
        Queue.take(gate),
        writes.push(
          text
            .trimEnd()
            .split("\n")
            .map((line) => JSON.parse(line))
        )
      )
    ),
    options
  )
  // Unless the test is about closing, messages that are still queued at its end may be lost.
  if (options?.flush === undefined)
    yield* Effect.addFinalizer(() =>
      Queue.offerAll(
        gate,
        Array.from({ length: 99 }, () => undefined)
      )
    )
  return { ...outbox, writes, let1: () => void Queue.offerUnsafe(gate, undefined) }
})

describe("Outbox", () => {
  it.effect("Both lanes keep the order of their senders", () =>
    Effect.gen(function* () {
      const { sink, writes, let1 } = yield* gated({ highWater: 1 })
      for (let n = 0; n < 6; n++) sink.send(n % 2 === 0 ? note(n) : answer(n), n % 2 === 0 ? "data" : "control")
      let1()
      yield* quiesce
      assert.deepStrictEqual(
        writes.flat().map((message) => message.params?.n ?? message.id),
        [0, 1, 2, 3, 4, 5]
      )
    })
  )

  it.effect("Messages sent in one turn are joined into one write of whole lines", () =>
    Effect.gen(function* () {
      const { sink, writes, let1 } = yield* gated()
      sink.send(note(1), "data")
      sink.send([answer(1), answer(2)], "control")
      yield* quiesce
      sink.send(note(2), "data")
      sink.send(note(3), "data")
      let1()
      yield* quiesce
      assert.deepStrictEqual(writes, [
        [note(1), [answer(1), answer(2)]],
        [note(2), note(3)]
      ])
    })
  )

  it.effect("After a pause, an answer is written separately from earlier notifications", () =>
    Effect.gen(function* () {
      const writes: Array<number> = []
      const resumes: Array<() => void> = []
      const ended = yield* Deferred.make<void>()
      const { sink } = yield* Outbox.make({
        write: (text, taken) => {
          writes.push(text.split("\n").length)
          taken()
        },
        pause: (resume) => resumes.push(resume),
        end: () => Deferred.doneUnsafe(ended, Effect.void),
        run: Deferred.await(ended)
      })
      sink.send(note(1), "data")
      sink.send(note(2), "data")
      sink.send(answer(1), "control")
      yield* quiesce
      sink.send(answer(2), "control")
      yield* quiesce
      assert.deepStrictEqual([writes, resumes.length], [[2], 1])
      resumes[0]?.()
      yield* quiesce
      sink.send(answer(3), "control")
      sink.send(note(3), "data")
      yield* quiesce
      assert.deepStrictEqual([writes, resumes.length], [[2, 2, 2], 1])
    })
  )

  it.effect("Many messages are split into several writes", () =>
    Effect.gen(function* () {
      const { sink, size, writes, let1 } = yield* gated()
      const padding = "x".repeat(20_000)
      for (let n = 0; n < 10; n++) sink.send(note(n, padding), "data")
      for (const left of [6, 2, 0]) {
        let1()
        yield* quiesce
        assert.strictEqual(Math.round(size() / padding.length), left)
      }
      assert.deepStrictEqual(
        writes.map((messages) => messages.length),
        [4, 4, 2]
      )
      assert.deepStrictEqual(
        writes.flat().map(({ params }) => params.n),
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
      )
    })
  )

  it.effect("A line is never broken up, whatever its strings contain", () =>
    Effect.gen(function* () {
      const { sink, writes, let1 } = yield* gated()
      const padding = "a\nb\r\n\u2028\u0000\ud800"
      sink.send(note(1, padding), "data")
      let1()
      yield* quiesce
      assert.deepStrictEqual(writes, [[note(1, padding)]])
    })
  )

  it.effect("Data senders wait while the outbox is above its high-water mark", () =>
    Effect.gen(function* () {
      const { sink, size, let1 } = yield* gated({ highWater: 100 })
      assert.isTrue(sink.writable())
      sink.send(note(1, "x".repeat(100)), "data")
      assert.isFalse(sink.writable())
      const waiting = yield* Effect.forkChild(sink.ready, { startImmediately: true })
      yield* quiesce
      // Taken by the writer but not yet by the wire, so it still counts.
      assert.isUndefined(waiting.pollUnsafe())
      assert.isAbove(size(), 100)
      let1()
      yield* Fiber.join(waiting)
      assert.strictEqual(size(), 0)
      assert.isTrue(sink.writable())
    })
  )

  it.effect("Answers neither wait for the data lane nor count towards it", () =>
    Effect.gen(function* () {
      const { sink } = yield* gated({ highWater: 100 })
      for (let n = 0; n < 10; n++) sink.send(answer(n, "x".repeat(50)), "control")
      assert.isTrue(sink.writable())
      yield* sink.ready
    })
  )

  it.effect("A control lane over its limit breaks the connection and frees everything", () =>
    Effect.gen(function* () {
      const { sink, broken, size } = yield* gated({ controlCap: 1000, highWater: 10 })
      sink.send(note(0), "data")
      const waiting = yield* Effect.forkChild(sink.ready, { startImmediately: true })
      for (let n = 0; n < 30; n++) sink.send(answer(n, "x".repeat(100)), "control")
      assert.strictEqual((yield* Effect.flip(broken)).reason, "Overflow")
      yield* Fiber.join(waiting)
      assert.isTrue(sink.writable())
      sink.send(answer(99), "control")
      yield* quiesce
      assert.strictEqual(size(), 0)
    })
  )

  it.effect("Accepted messages are freed from the outbox", () =>
    Effect.gen(function* () {
      const wrote = yield* Queue.unbounded<void>()
      const outbox = yield* Outbox.make(
        Stream.runForEach(() => Queue.offer(wrote, undefined)),
        { controlCap: 500, highWater: 500 }
      )
      for (let n = 0; n < 50; n++) {
        outbox.sink.send(answer(n, "x".repeat(100)), "control")
        yield* Queue.take(wrote)
        outbox.sink.send(note(n, "x".repeat(100)), "data")
        yield* Queue.take(wrote)
        assert.isAtMost(outbox.size(), 200)
      }
      // The next pull confirms that the last message was accepted.
      outbox.sink.send(answer(99), "control")
      yield* Queue.take(wrote)
      assert.isTrue(outbox.sink.writable())
      assert.isAtMost(outbox.size(), 100)
    })
  )

  it.effect("A batch of answers is counted by its text and freed completely", () =>
    Effect.gen(function* () {
      const waiting: Array<() => void> = []
      const outbox = yield* Outbox.make(
        {
          write: (_, taken) => void waiting.push(taken),
          end: () => {},
          run: Effect.never
        },
        { flush: 0 }
      )
      const batch = [answer(1), answer(2, "é")]
      outbox.sink.send(batch, "control")
      outbox.sink.send(note(1), "data")
      const size = `[${batch.map(JsonRpc.encode).join(",")}]`.length + JsonRpc.encode(note(1)).length
      assert.strictEqual(outbox.size(), size)
      yield* quiesce
      assert.strictEqual(outbox.size(), size)
      for (const taken of waiting) taken()
      assert.strictEqual(outbox.size(), 0)
    })
  )

  it.effect("A single answer can exceed the limit", () =>
    Effect.gen(function* () {
      const { sink, writes, let1 } = yield* gated({ controlCap: 1000 })
      sink.send(answer(1, "x".repeat(5000)), "control")
      let1()
      yield* quiesce
      assert.strictEqual(writes.length, 1)
    })
  )

  it.effect("A connection that breaks during a write does not make the counts negative", () =>
    Effect.gen(function* () {
      const { sink, fail, size, let1 } = yield* gated()
      sink.send(note(1), "data")
      yield* quiesce
      fail(new TransportError({ reason: "Write", message: "gone" }))
      let1()
      yield* quiesce
      assert.strictEqual(size(), 0)
      assert.isTrue(sink.writable())
    })
  )

  for (const [how, write] of [
    ["fails", Effect.fail(new TransportError({ reason: "Write", message: "EPIPE" }))],
    ["dies", Effect.die("EPIPE")],
    ["stops without an error", Effect.void]
  ] as const) {
    it.effect(`The outbox breaks if its writer ${how}`, () =>
      Effect.gen(function* () {
        const { broken, sink } = yield* Outbox.make(() => write)
        assert.strictEqual((yield* Effect.flip(broken)).reason, "Write")
        sink.send(note(1), "data")
        yield* sink.ready
      })
    )
  }

  it.effect("The outbox breaks and closes at once if its writer throws", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const defect = new Error("no")
      const write = () => {
        throw defect
      }
      const { broken, sink } = yield* Scope.provide(Outbox.make({ write, end: () => {}, run: Effect.never }), scope)
      sink.send(note(1), "data")
      const error = yield* Effect.flip(broken)
      assert.strictEqual(error.reason, "Write")
      assert.strictEqual(error.cause, defect)
      yield* Scope.close(scope, Exit.void)
    })
  )

  it.effect("A value that is not JSON throws and is not counted", () =>
    Effect.gen(function* () {
      const { sink, size } = yield* gated()
      assert.throws(() => sink.send(JsonRpc.notification("n", { big: 1n }), "data"))
      assert.throws(() => sink.send(JsonRpc.success(1, undefined), "control"))
      assert.strictEqual(size(), 0)
    })
  )

  it.effect("Queued messages are written before the scope closes", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const { sink, writes, let1 } = yield* Scope.provide(gated({ flush: "1 minute" }), scope)
      sink.send(note(1), "data")
      yield* quiesce
      sink.send(note(2), "data")
      const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void), { startImmediately: true })
      let1()
      let1()
      yield* Fiber.join(closing)
      assert.deepStrictEqual(writes, [[note(1)], [note(2)]])
    })
  )

  it.effect("The outbox closes after the flush time if the connection accepts no writes", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const { sink } = yield* Scope.provide(gated({ flush: "2 seconds" }), scope)
      sink.send(note(1), "data")
      const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void), { startImmediately: true })
      yield* quiesce
      assert.isUndefined(closing.pollUnsafe())
      yield* TestClock.adjust("2 seconds")
      yield* Fiber.join(closing)
      sink.send(note(2), "data")
      yield* sink.ready
    })
  )
})

/** A peer whose handlers report progress over a gated outbox. */
const reporting = Effect.fnUntraced(function* (
  handle: (report: Progress.Progress["Service"]["report"]) => Effect.Effect<unknown>,
  options?: Outbox.Options
) {
  const outbox = yield* gated(options)
  const peer = yield* Peer.make(
    { incoming: Stream.never, sink: outbox.sink, broken: outbox.broken },
    {
      request: ({ request: { id }, sink }) => {
        const progress = Progress.make({
          token: id,
          writable: sink.writable,
          ready: sink.ready,
          send: (event) => sink.send(JsonRpc.notification("notifications/progress", event), "data", id)
        })
        return handle(progress.report)
      },
      notification: () => {}
    }
  )
  return { ...outbox, peer, receive: (json: unknown) => peer.receive(Framing.decode(JSON.stringify(json))) }
})

describe("Connections under load", () => {
  it.effect("Progress is sent before its response, however full the data lane is", () =>
    Effect.gen(function* () {
      const { receive, writes, let1 } = yield* reporting(
        (report) =>
          Effect.as(
            Effect.forEach([1, 2, 3], (value) => report(value)),
            {}
          ),
        { highWater: 1 }
      )
      receive(request(1))
      receive(request(2))
      for (let n = 0; n < 10; n++) {
        let1()
        yield* quiesce
      }
      const order = writes
        .flat()
        .map((message) => `${message.params?.progressToken ?? message.id} ${message.params?.progress ?? "done"}`)
      for (const id of [1, 2]) {
        assert.deepStrictEqual(
          order.filter((each) => each.startsWith(`${id} `)),
          [`${id} 1`, `${id} 2`, `${id} 3`, `${id} done`]
        )
      }
    })
  )

  it.effect("A stalled reader uses bounded memory while handlers flood it with progress", () =>
    Effect.gen(function* () {
      const highWater = 1000
      let reports = 0
      const { receive, size, peer } = yield* reporting(
        (report) =>
          Effect.forever(
            Effect.andThen(
              Effect.sleep("20 millis"),
              Effect.suspend(() => report(++reports, { message: "x".repeat(100) }))
            )
          ),
        { highWater }
      )
      for (let id = 0; id < 10; id++) receive(request(id))
      for (let second = 0; second < 60; second++) {
        yield* TestClock.adjust("1 second")
        // At most one message of each handler over the high-water mark.
        assert.isBelow(size(), highWater + 10 * 300)
      }
      // The handlers do not block for ever: after the stall time only the latest report of each is kept.
      assert.isAbove(reports, 1000)
      peer.interrupt("enough")
    })
  )

  it.effect("A stalled reader does not block a handler forever", () =>
    Effect.gen(function* () {
      const done = yield* Deferred.make<void>()
      const { receive } = yield* reporting(
        (report) =>
          Effect.andThen(
            Effect.forEach([1, 2, 3, 4], (value) => report(value)),
            Deferred.succeed(done, undefined)
          ),
        { highWater: 1 }
      )
      receive(request(1))
      yield* TestClock.adjust(Progress.stallTime)
      yield* Deferred.await(done)
    })
  )

  it.effect("A connection whose answers are not read breaks, and its requests end", () =>
    Effect.gen(function* () {
      const { receive, peer } = yield* reporting(() => Effect.never, { controlCap: 500 })
      const peerless = yield* Effect.forkChild(Effect.flip(peer.awaitClosed), { startImmediately: true })
      receive(request("stays"))
      for (let id = 0; id < 50; id++) receive([request(id)])
      const error = yield* Fiber.join(peerless)
      assert.strictEqual(error.reason, "Overflow")
      yield* quiesce
      assert.deepStrictEqual(yield* peer.inFlight, [])
      assert.strictEqual((yield* Effect.flip(peer.request("late")))._tag, "Closed")
    })
  )
})
