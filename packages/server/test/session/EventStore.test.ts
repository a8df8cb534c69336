/** Events that the memory store keeps, and events that it drops. */
import { type Event, EventStore, makeMemory } from "@effect-mcp/server/EventStore"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as Arbitrary from "effect/Arbitrary"

const one = { session: "s", stream: "1" }
const other = { session: "s", stream: "2" }
const event = (seq: number, size = 10): Event => ({ seq, text: `${seq}`.padEnd(size, ".") })
const seqs = (events: ReadonlyArray<Event>) => events.map(({ seq }) => seq)

const Count = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 6 }))
const Bursts = Schema.Array(Count)

describe("The in-memory event store", () => {
  it.effect("The event store returns only a stream's events after a given one, in order", () =>
    Effect.gen(function* () {
      const store = yield* EventStore
      for (const seq of [0, 1, 2]) {
        yield* store.append(one, [event(seq)])
        yield* store.append(other, [event(seq)])
        yield* store.append({ session: "t", stream: "1" }, [event(seq)])
      }
      assert.deepStrictEqual(yield* store.after(one, 0), [event(1), event(2)])
      assert.deepStrictEqual(yield* store.after(one, 2), [])
      assert.strictEqual((yield* Effect.flip(store.after({ session: "u", stream: "1" }, 0)))._tag, "EventsGone")
    }).pipe(Effect.provide(EventStore.layerMemory()))
  )

  it.effect("A stream over its limit drops its oldest events, never the newest", () =>
    Effect.gen(function* () {
      const store = makeMemory({ maxBytesPerStream: 30 })
      for (const seq of [0, 1, 2, 3]) yield* store.append(one, [event(seq)])
      assert.strictEqual((yield* Effect.flip(store.after(one, -1)))._tag, "EventsGone")
      assert.deepStrictEqual(seqs(yield* store.after(one, 0)), [1, 2, 3])
      yield* store.append(one, [event(4, 100)])
      assert.strictEqual((yield* Effect.flip(store.after(one, 2)))._tag, "EventsGone")
      assert.deepStrictEqual(seqs(yield* store.after(one, 3)), [4])
    })
  )

  it.effect("The longest-silent streams are dropped when all sessions together exceed the limit", () =>
    Effect.gen(function* () {
      const store = makeMemory({ maxBytes: 40 })
      yield* store.append(one, [event(0)])
      yield* store.append(other, [event(0)])
      yield* store.append(one, [event(1)])
      yield* store.append({ session: "t", stream: "1" }, [event(0, 20)])
      assert.strictEqual((yield* Effect.flip(store.after(other, -1)))._tag, "EventsGone")
      assert.deepStrictEqual(seqs(yield* store.after(one, -1)), [0, 1])
      yield* store.append(other, [event(1, 100)])
      assert.strictEqual((yield* Effect.flip(store.after(one, -1)))._tag, "EventsGone")
      assert.deepStrictEqual(seqs(yield* store.after(other, 0)), [1])
    })
  )

  it.effect("The largest caller's events are dropped first, regardless of its number of sessions", () =>
    Effect.gen(function* () {
      const store = makeMemory({ maxBytes: 100, callerShare: 1 })
      const victim = { session: "victim", stream: "1", caller: "ann" }
      yield* store.append(victim, [event(0, 30)])
      for (let at = 0; at < 20; at++) {
        yield* store.append({ session: `${at}`, stream: "1", caller: "eve" }, [event(0)])
      }
      assert.deepStrictEqual(seqs(yield* store.after(victim, -1)), [0])
      assert.strictEqual((yield* Effect.flip(store.after({ session: "12", stream: "1" }, -1)))._tag, "EventsGone")
      assert.deepStrictEqual(seqs(yield* store.after({ session: "13", stream: "1" }, -1)), [0])
    })
  )

  it.effect("A caller over its share loses its longest-silent streams", () =>
    Effect.gen(function* () {
      const store = makeMemory({ maxBytes: 40 })
      const of = (session: string) => ({ session, stream: "1", caller: "eve" })
      for (const session of ["1", "2", "3"]) yield* store.append(of(session), [event(0)])
      assert.strictEqual((yield* Effect.flip(store.after(of("1"), -1)))._tag, "EventsGone")
      for (const session of ["2", "3"]) assert.deepStrictEqual(seqs(yield* store.after(of(session), -1)), [0])
    })
  )

  it.effect("Forgetting a stream or session frees its room", () =>
    Effect.gen(function* () {
      const store = makeMemory({ maxBytes: 40 })
      yield* store.append(one, [event(0, 20)])
      yield* store.append(other, [event(0, 20)])
      yield* store.forget("s", "1")
      yield* store.append({ session: "t", stream: "1" }, [event(0, 20)])
      assert.deepStrictEqual(seqs(yield* store.after(other, -1)), [0])
      yield* store.forget("s")
      assert.strictEqual((yield* Effect.flip(store.after(other, -1)))._tag, "EventsGone")
      assert.deepStrictEqual(seqs(yield* store.after({ session: "t", stream: "1" }, -1)), [0])
    })
  )

  it.effect.prop(
    "Single and batched events are stored the same way, with or without their text",
    { sizes: Arbitrary.array(Arbitrary.schema(Bursts), { maxLength: 12 }), from: Count },
    ({ from, sizes }) =>
      Effect.gen(function* () {
        const batches = makeMemory()
        const texts = makeMemory()
        const singles = makeMemory()
        let seq = 0
        for (const size of sizes.flat()) {
          const events = Array.from({ length: size }, () => event(seq, 3 + (seq++ % 5)))
          yield* batches.append(one, events)
          yield* texts.append(one, events, events.map(({ text }) => text).join(""))
          for (const single of events) yield* singles.append(one, [single])
        }
        const ends = [batches, texts, singles].map((store) => Effect.exit(store.after(one, from - 1)))
        const [together, texted, apart] = yield* Effect.all(ends)
        assert.deepStrictEqual(together, apart)
        assert.deepStrictEqual(texted, apart)
      })
  )

  it.effect("A batch that exceeds the stream limit keeps its newest events", () =>
    Effect.gen(function* () {
      const store = makeMemory({ maxBytesPerStream: 30 })
      yield* store.append(
        one,
        [0, 1, 2, 3, 4].map((seq) => event(seq))
      )
      assert.strictEqual((yield* Effect.flip(store.after(one, 0)))._tag, "EventsGone")
      assert.deepStrictEqual(seqs(yield* store.after(one, 1)), [2, 3, 4])
      yield* store.append(one, [event(5), event(6, 100)], `${event(5).text}${event(6, 100).text}`)
      assert.deepStrictEqual(yield* store.after(one, 5), [event(6, 100)])
    })
  )
})
