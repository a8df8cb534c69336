/** Writes of a session to a store that cannot keep up. */
import { ResumableStream } from "../../../src/http/session/ResumableStream.ts"
import { SessionLog } from "../../../src/http/session/SessionLog.ts"
import { boundsOf, Shares } from "@effect-mcp/core/internal/inFlight"
import { makeMemory } from "@effect-mcp/server/EventStore"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Latch, Schema } from "effect"
import * as Arbitrary from "effect/Arbitrary"
import { TestClock } from "effect/testing"

const megabyte = 1024 * 1024
const event = (seq: number) => ({ seq, text: "x".repeat(megabyte / 4) })

const session = (unwritten = new Shares(boundsOf(Infinity, 1)), id = "s") => ({
  id,
  caller: "ann",
  config: { runFork: Effect.runFork, unwritten }
})

describe("Event stores that fall behind", () => {
  it.effect("A slow store loses excess events, but keeps later ones", () =>
    Effect.gen(function* () {
      const gate = Latch.makeUnsafe(false)
      const memory = makeMemory({ maxBytesPerStream: 64 * megabyte })
      const kept: Array<number> = []
      const store = {
        ...memory,
        append: (key: Parameters<typeof memory.append>[0], events: Parameters<typeof memory.append>[1]) =>
          Effect.andThen(
            gate.await,
            Effect.andThen(
              Effect.sync(() => kept.push(...events.map(({ seq }) => seq))),
              memory.append(key, events)
            )
          )
      }
      const log = new SessionLog(store, session())
      const stream = log.of("1")
      for (let seq = 0; seq < 100; seq++) stream.append(event(seq))
      gate.openUnsafe()
      assert.isAbove((yield* stream.after(0)).length, 0)
      assert.isAtMost(kept.length, 18)
      stream.append(event(100))
      assert.deepStrictEqual(
        (yield* stream.after(99)).map(({ seq }) => seq),
        [100]
      )
    })
  )

  it.effect("Bytes waiting for a slow store are limited per caller", () =>
    Effect.gen(function* () {
      const unwritten = new Shares(boundsOf(megabyte, 0.5))
      const store = { ...makeMemory(), append: () => Effect.never }
      const logs = ["1", "2", "3", "4"].map((id) => new SessionLog(store, session(unwritten, id)))
      for (const log of logs) log.of("1").append(event(0))
      assert.deepStrictEqual(
        logs.map(({ unkept }) => unkept),
        [megabyte / 4, megabyte / 4, megabyte / 4, 0]
      )
      const ending = yield* Effect.forkChild(
        Effect.all(
          logs.map((log) => log.end),
          { concurrency: "unbounded" }
        ),
        { startImmediately: true }
      )
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(ending)
      assert.deepStrictEqual([unwritten.total, unwritten.of("ann")], [0, 0])
    })
  )

  it.effect("Reads and session ends wait a limited time for a slow store", () =>
    Effect.gen(function* () {
      const log = new SessionLog({ ...makeMemory(), append: () => Effect.never }, session())
      const stream = log.of("1")
      stream.append(event(0))
      for (const [waiting, patience] of [
        [stream.after(-1), "10 seconds"],
        [log.close, "1 second"]
      ] as const) {
        const fiber = yield* Effect.forkChild(Effect.exit(waiting as Effect.Effect<unknown, unknown>), {
          startImmediately: true
        })
        yield* TestClock.adjust("900 millis")
        assert.isUndefined(fiber.pollUnsafe())
        yield* TestClock.adjust(patience)
        assert.strictEqual(Exit.isFailure(yield* Fiber.join(fiber)), patience === "10 seconds")
      }
    })
  )

  it.effect("Streams waiting for deletion in a slow store are limited", () =>
    Effect.gen(function* () {
      const gate = Latch.makeUnsafe(false)
      let forgotten = 0
      const store = { ...makeMemory(), append: () => gate.await, forget: () => Effect.sync(() => void forgotten++) }
      const log = new SessionLog(store, session())
      log.of("0").append(event(0))
      yield* Effect.yieldNow
      for (let stream = 0; stream < 10_000; stream++) log.forget(`${stream}`)
      gate.openUnsafe()
      yield* Effect.exit(log.of("0").after(-1))
      assert.isAtMost(forgotten, 5000)
      forgotten = 0
      log.forget("1")
      yield* Effect.exit(log.of("0").after(-1))
      assert.strictEqual(forgotten, 1)
    })
  )
})

const Command = Schema.Union([
  Schema.TaggedStruct("Write", {
    stream: Schema.Literals([0, 1]),
    count: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 5 })),
    size: Schema.Literals([1, 100, 40_000])
  }),
  /** The body takes the waiting events. */
  Schema.TaggedStruct("Take", { stream: Schema.Literals([0, 1]) }),
  Schema.TaggedStruct("Turn", {}),
  Schema.TaggedStruct("Busy", { busy: Schema.Boolean })
])

describe("Session logs", () => {
  it.effect.prop(
    "Events are stored in order as written, however they are grouped",
    { script: Arbitrary.array(Arbitrary.schema(Command), { maxLength: 40 }) },
    ({ script }) =>
      Effect.gen(function* () {
        const gate = Latch.makeUnsafe(true)
        const memory = makeMemory({ maxBytesPerStream: 64 * megabyte })
        const store: typeof memory = {
          ...memory,
          append: (key, events, text) => {
            assert.strictEqual(text, events.map(({ text }) => text).join(""))
            return Effect.andThen(gate.await, memory.append(key, events, text))
          }
        }
        const log = new SessionLog(store, session())
        const owner = { attached: () => {}, detached: () => {} }
        const streams = ["a", "b"].map((name) => {
          const stream = new ResumableStream({ name, log: log.of(name), owner })
          return { name, stream, connection: stream.attach(), written: new Array<string>(), taken: "" }
        })
        for (const command of script) {
          if (command._tag === "Busy") {
            if (command.busy) gate.closeUnsafe()
            else gate.openUnsafe()
          }
          if (command._tag === "Turn") yield* Effect.yieldNow
          for (const one of streams.filter((_, at) => "stream" in command && command.stream === at)) {
            if (command._tag === "Take") one.taken += one.stream.take(one.connection)
            if (command._tag !== "Write") continue
            for (let i = 0; i < command.count; i++) {
              const data = `${one.written.length}`.padEnd(command.size, "x")
              one.stream.write(data)
              one.written.push(`id: ${one.name}-${one.written.length}\ndata: ${data}\n\n`)
            }
          }
        }
        gate.openUnsafe()
        for (const { connection, name, stream, taken, written } of streams) {
          let all = taken
          while (!stream.isEmpty) all += stream.take(connection)
          assert.strictEqual(all, written.join(""))
          if (written.length === 0) continue
          assert.deepStrictEqual(
            yield* log.of(name).after(-1),
            written.map((text, seq) => ({ seq, text }))
          )
        }
      })
  )
})
