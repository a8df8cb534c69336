/** A resumable stream with its log and connections, cut at random: the client receives everything that was written. */
import { ResumableStream } from "../../../src/http/session/ResumableStream.ts"
import { keepAliveTimer, type KeepAliveTimer, type SseBody } from "../../../src/http/response/SseBody.ts"
import { makeMemory } from "@effect-mcp/server/EventStore"
import { quiesce } from "@effect-mcp/testing/Quiesce"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Exit, Fiber, type Pull, Schema, type Scope, Semaphore, Stream } from "effect"
import * as Arbitrary from "effect/Arbitrary"

const Count = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 4 }))
const Command = Schema.Union([
  Schema.TaggedStruct("Write", { count: Count }),
  Schema.TaggedStruct("Read", {}),
  /** The client receives this many events of a chunk, then the wire is cut. */
  Schema.TaggedStruct("Cut", { received: Count }),
  /** The client comes back; more is written in the meantime. */
  Schema.TaggedStruct("Come", { meanwhile: Count }),
  Schema.TaggedStruct("Leave", {})
])

const decoder = new TextDecoder()

class Model {
  private written = 0
  private readonly received: Array<string> = []
  private last = 0
  private connection: SseBody | undefined
  private pull: Pull.Pull<ReadonlyArray<Uint8Array>> | undefined
  private readonly stream: ResumableStream
  private readonly keepAlive: KeepAliveTimer

  /** `slow`: the log responds late, but in order. */
  constructor(slow: boolean, clock: Clock.Clock) {
    this.keepAlive = keepAliveTimer("1 hour", clock, Effect.runFork)
    const store = makeMemory()
    const key = { session: "s", stream: "1" }
    const line = Semaphore.makeUnsafe(1)
    const through = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E> =>
      slow ? line.withPermits(1)(Effect.andThen(Effect.yieldNow, effect)) : effect
    this.stream = new ResumableStream({
      name: "1",
      log: {
        append: (event) => void Effect.runFork(through(store.append(key, [event]))),
        after: (seq) => through(store.after(key, seq))
      },
      owner: { attached: () => {}, detached: () => {} }
    })
    this.stream.sendPrimingEvent("1 second")
  }

  private readonly attach = Effect.fnUntraced(function* (
    this: Model,
    connection: SseBody
  ): Effect.fn.Return<void, never, Scope.Scope> {
    this.connection = connection
    this.pull = yield* Stream.toPull(connection.stream(this.keepAlive))
  })

  /** The events of one chunk, if one arrives. */
  private readonly chunk = Effect.suspend(() => {
    if (this.pull === undefined) return Effect.succeed([])
    const waited = Effect.raceFirst(Effect.exit(this.pull), Effect.as(quiesce, undefined))
    return Effect.map(waited, (exit) => {
      if (exit === undefined || Exit.isFailure(exit)) return []
      const text = exit.value.map((bytes) => decoder.decode(bytes)).join("")
      return text.split("\n\n").filter((event) => event !== "")
    })
  })

  private take(events: ReadonlyArray<string>): void {
    for (const event of events) {
      const [, seq, data = ""] = /id: 1-(\d+)\n(?:retry: \d+\n)?data: (.*)$/s.exec(event) ?? []
      if (seq === undefined) continue
      this.last = Number(seq)
      if (data !== "") this.received.push(data)
    }
  }

  readonly start = Effect.suspend(() =>
    Effect.andThen(
      this.attach(this.stream.attach()),
      Effect.map(this.chunk, (events) => this.take(events))
    )
  )

  write(count: number): void {
    for (let i = 0; i < count; i++) this.stream.write(`${this.written++}`)
  }

  private cut(): void {
    if (this.connection !== undefined) this.stream.detach(this.connection)
    this.pull = undefined
  }

  private readonly come = (meanwhile: number) =>
    Effect.gen({ self: this }, function* () {
      const connection = this.stream.attach()
      const resuming = yield* Effect.forkChild(this.stream.resume(connection, this.last), { startImmediately: true })
      this.write(meanwhile)
      yield* Fiber.join(resuming)
      yield* this.attach(connection)
    })

  readonly step = (command: typeof Command.Type) =>
    Effect.gen({ self: this }, function* () {
      if (command._tag === "Write") this.write(command.count)
      if (command._tag === "Read") this.take(yield* this.chunk)
      if (command._tag === "Cut") {
        this.take((yield* this.chunk).slice(0, command.received))
        this.cut()
      }
      if (command._tag === "Come") yield* this.come(command.meanwhile)
      if (command._tag === "Leave") this.stream.closeStream("1 second")
    })

  readonly finish = Effect.gen({ self: this }, function* () {
    this.stream.end()
    yield* this.come(0)
    for (let events = yield* this.chunk; events.length > 0; events = yield* this.chunk) this.take(events)
    assert.deepStrictEqual(
      this.received,
      Array.from({ length: this.written }, (_, at) => `${at}`)
    )
    assert.isTrue(this.stream.writable())
  })
}

describe("Streams cut and resumed at random", () => {
  it.effect.prop(
    "A resumed stream delivers every event once, in order",
    { script: Arbitrary.array(Arbitrary.schema(Command), { maxLength: 30 }), slow: Schema.Boolean },
    ({ script, slow }) =>
      Effect.scoped(
        Effect.gen(function* () {
          const model = new Model(slow, yield* Clock.Clock)
          yield* model.start
          for (const command of script) yield* model.step(command)
          yield* model.finish
        })
      ),
    { timeout: 20_000, arbitrary: { runs: 400, size: 30 } }
  )
})
