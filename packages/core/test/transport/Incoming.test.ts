/** A reader receives the same items and the same end from the stream of a source as from its delivery. */
import { quiesce } from "@effect-mcp/testing/Quiesce"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, Schema, Stream } from "effect"
import * as Arbitrary from "effect/Arbitrary"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as Framing from "../../src/transport/Framing.ts"
import * as Incoming from "../../src/transport/Incoming.ts"
import * as Transport from "../../src/transport/Transport.ts"
import { request, serve } from "../support/wire.ts"

type Source<A> = Incoming.Incoming<A, Transport.TransportError>

/** A source that the test drives, with counts of its starts and ends. */
const driven = <A>() => {
  let receive: ((item: A) => void) | undefined
  let resume: (how: Effect.Effect<void, Transport.TransportError>) => void = () => {}
  const stats = { started: 0, ended: 0 }
  const source = Incoming.fromCallback<A, Transport.TransportError>((receiving) =>
    Effect.ensuring(
      Effect.callback<void, Transport.TransportError>((resuming) => {
        stats.started++
        receive = receiving
        resume = resuming
      }),
      Effect.sync(() => {
        stats.ended++
        receive = undefined
      })
    )
  )
  return {
    source,
    stats,
    push: (item: A) => {
      try {
        receive?.(item)
      } catch (defect) {
        receive = undefined
        resume(Effect.die(defect))
      }
    },
    finish: (how: Effect.Effect<void, Transport.TransportError>) => resume(how)
  }
}

const broken = new Transport.TransportError({ reason: "Read", message: "broken" })
const ends = {
  end: Effect.void,
  failure: Effect.fail(broken),
  defect: Effect.die("defect")
}

const changes: Readonly<Record<string, (self: Source<number>) => Source<number>>> = {
  map: (self) => Incoming.map(self, (n) => n + 1),
  filter: (self) => Incoming.filter(self, (n) => n % 3 !== 0),
  flatMap: (self) => Incoming.flatMap(self, (n) => (n % 2 === 0 ? [] : [n, -n]))
}
const throwing = (self: Source<number>) =>
  Incoming.map(self, (n) => {
    if (n === 7) throw new Error("seven")
    return n
  })

const Script = Schema.Struct({
  changes: Schema.Array(Schema.Literals(["map", "filter", "flatMap"])),
  throws: Schema.Boolean,
  bursts: Schema.Array(Schema.Array(Schema.Literals([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]))),
  end: Schema.Literals(["end", "failure", "defect", "interruption"])
})

const pulled = <T extends object>(self: T) => ({ ...self, delivery: undefined })

/** Runs the script; `before` is applied to the source, `after` to the result of the changes. */
const outcome = Effect.fnUntraced(function* (
  script: typeof Script.Type,
  before: (self: Source<number>) => Source<number>,
  after: (self: Source<number>) => Source<number>
) {
  const { finish, push, source, stats } = driven<number>()
  const seen: Array<number> = []
  const read = after(
    script.changes.reduce(
      (self, name) => changes[name]?.(self) ?? self,
      script.throws ? throwing(before(source)) : before(source)
    )
  )
  const fiber = yield* Effect.forkChild(
    Incoming.forEach(read, (item) => void seen.push(item)),
    { startImmediately: true }
  )
  yield* quiesce
  // A Stream maps items that arrive together as one chunk, so a defect loses the whole chunk.
  const bursts = script.throws ? script.bursts.flat().map((n) => [n]) : script.bursts
  for (const burst of bursts) {
    burst.forEach(push)
    yield* quiesce
  }
  if (script.end === "interruption") yield* Fiber.interrupt(fiber)
  else finish(ends[script.end])
  const exit = yield* Fiber.await(fiber)
  yield* quiesce
  const end = Exit.isSuccess(exit)
    ? "end"
    : Cause.hasInterruptsOnly(exit.cause)
      ? "interrupted"
      : String(Cause.squash(exit.cause))
  return { seen, end, stats }
})

describe("Sources with direct delivery", () => {
  it.effect.prop(
    "Pushed and pulled sources deliver the same items and end",
    { script: Arbitrary.schema(Script) },
    ({ script }) =>
      Effect.gen(function* () {
        const same = (self: Source<number>) => self
        const delivered = yield* outcome(script, same, same)
        assert.deepStrictEqual(yield* outcome(script, pulled, same), delivered)
        assert.deepStrictEqual(yield* outcome(script, same, pulled), delivered)
      }),
    { arbitrary: { runs: 200 } }
  )

  it.effect("A pushed item reaches the consumer synchronously", () =>
    Effect.gen(function* () {
      const { push, source } = driven<number>()
      const seen: Array<number> = []
      const changed = Incoming.filter(
        Incoming.map(
          Incoming.flatMap(source, (n) => [n, n]),
          (n) => n + 1
        ),
        (n) => n > 0
      )
      yield* Effect.forkChild(
        Incoming.forEach(changed, (item) => void seen.push(item)),
        { startImmediately: true }
      )
      push(1)
      assert.deepStrictEqual(seen, [2, 2])
    })
  )

  it.effect("More items than a default queue holds are buffered until the stream is pulled", () =>
    Effect.gen(function* () {
      const { finish, push, source } = driven<number>()
      const pull = yield* Stream.toPull(source.incoming)
      const first = yield* Effect.forkChild(pull, { startImmediately: true })
      yield* quiesce
      const items = Array.from({ length: 5000 }, (_, n) => n)
      items.forEach(push)
      finish(Effect.void)
      const read: Array<number> = [...(yield* Fiber.join(first))]
      while (read.length < items.length) read.push(...(yield* pull))
      assert.deepStrictEqual(read, items)
    })
  )

  it.effect("A replaced `incoming` stream is read instead of the original", () =>
    Effect.gen(function* () {
      const { finish, push, source } = driven<number>()
      const seen: Array<number> = []
      const replaced = { ...source, incoming: Stream.filter(source.incoming, (n) => n > 1) }
      const doubled = Incoming.flatMap(replaced, (n) => [n, n])
      const fiber = yield* Effect.forkChild(
        Incoming.forEach(doubled, (item) => void seen.push(item)),
        { startImmediately: true }
      )
      yield* quiesce
      push(1)
      push(2)
      finish(Effect.void)
      yield* Fiber.join(fiber)
      assert.deepStrictEqual(seen, [2, 2])
    })
  )
})

const message = (json: object) => Framing.decode(JSON.stringify(json))
const sinkTo = (sent: Array<unknown>): Transport.Sink => ({
  send: (leaving) => void sent.push(leaving),
  writable: () => true,
  ready: Effect.void
})

describe("Transport", () => {
  for (const path of ["delivered", "pulled"] as const) {
    it.effect(`A transport is tapped, mapped and filtered when its messages are ${path}`, () =>
      Effect.gen(function* () {
        const { push, source } = driven<Transport.Inbound>()
        const sent: Array<unknown> = []
        const tapped: Array<string> = []
        const transport = { ...source, sink: sinkTo(sent), broken: Effect.never, address: "here" }
        const self = Transport.tap(
          Transport.filter(
            Transport.map(path === "pulled" ? pulled(transport) : transport, (inbound) =>
              inbound._tag === "Message" && JsonRpc.isRequest(inbound.message)
                ? { ...inbound, message: { ...inbound.message, id: `mapped-${inbound.message.id}` } }
                : inbound
            ),
            (inbound) => inbound._tag === "Message"
          ),
          (inbound) => void tapped.push(inbound._tag)
        )
        assert.strictEqual(self.address, "here")
        assert.strictEqual(self.sink, transport.sink)
        const read = yield* Effect.forkChild(
          Incoming.forEach(self, (inbound) => void sent.push(inbound)),
          { startImmediately: true }
        )
        yield* quiesce
        push(message({ jsonrpc: "2.0", id: 1, method: "work" }))
        push(Framing.decode("no JSON"))
        yield* quiesce
        assert.deepStrictEqual(tapped, ["Message"])
        assert.deepStrictEqual(
          sent.map((inbound: any) => inbound.message.id),
          ["mapped-1"]
        )
        yield* Fiber.interrupt(read)
      })
    )
  }

  it("A class-based transport keeps its getters when mapped, filtered or tapped", () => {
    const sink = sinkTo([])
    class Socket implements Transport.Transport {
      readonly incoming = Stream.empty
      readonly broken = Effect.never
      get sink() {
        return sink
      }
      get address() {
        return "here"
      }
      get headers() {
        return true
      }
    }
    for (const change of [Transport.map((inbound) => inbound), Transport.filter(() => true), Transport.tap(() => {})]) {
      const { address, headers, sink: kept } = change(new Socket())
      assert.deepStrictEqual([address, headers, kept], ["here", true, sink])
    }
  })

  it.effect("A batch's answers are sent together, even if a member names another stream", () =>
    Effect.gen(function* () {
      const { peer, sent } = yield* serve(() => Effect.succeed({ done: true }), { batches: () => true })
      const elsewhere: Array<unknown> = []
      const [first, second] = [message(request(1)), message(request(2))]
      assert(first._tag === "Message" && second._tag === "Message")
      peer.receive({ _tag: "Batch", members: [{ ...first, replyTo: sinkTo(elsewhere) }, second] })
      assert.deepStrictEqual(elsewhere, [])
      assert.deepStrictEqual(
        sent.flatMap(({ message }) => message).map(({ id }) => id),
        [1, 2]
      )
    })
  )

  it.effect("An answer is sent on the stream its request names", () =>
    Effect.gen(function* () {
      const { peer, sent } = yield* serve(() => Effect.succeed({ done: true }))
      const elsewhere: Array<unknown> = []
      const [first, second] = [message(request(1)), message(request(2))]
      assert(first._tag === "Message")
      peer.receive({ ...first, replyTo: sinkTo(elsewhere) })
      peer.receive(second)
      assert.deepStrictEqual(elsewhere, [{ jsonrpc: "2.0", id: 1, result: { done: true } }])
      assert.deepStrictEqual(
        sent.map(({ message }) => message.id),
        [2]
      )
    })
  )
})
