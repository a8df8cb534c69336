/**
 * Random histories of the memory store against its contract: the events that each stream keeps, the events that may be dropped for room,
 * and the order of drops.
 */
import { type Event, makeMemory } from "@effect-mcp/server/EventStore"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as Arbitrary from "effect/Arbitrary"

const maxBytesPerStream = 40
const maxBytesPerSession = 70
const maxBytes = 120
const limits = { maxBytes, maxBytesPerSession, maxBytesPerStream }

const between = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))
/** Sizes around every limit: a single event may be larger than each limit. */
const Size = Schema.Union([between(1, 12), between(38, 42), between(68, 72), between(118, 122)])
const Key = Schema.Struct({ session: Schema.Literals(["a", "b", "c"]), stream: Schema.Literals(["0", "1", "2"]) })
const Command = Schema.Union([
  Schema.TaggedStruct("Append", { key: Key, sizes: Schema.Array(Size).check(Schema.isMaxLength(3)) }),
  Schema.TaggedStruct("Append", { key: Key, sizes: Schema.Array(between(1, 12)).check(Schema.isMaxLength(4)) }),
  Schema.TaggedStruct("Forget", { key: Key, whole: Schema.Boolean })
])

/** One stream as it should be kept. */
interface Kept {
  readonly session: string
  readonly batches: ReadonlyArray<ReadonlyArray<Event>>
  /** Time of the last append. */
  readonly at: number
}

const sizeOf = (events: ReadonlyArray<Event>): number => events.reduce((sum, { text }) => sum + text.length, 0)
const bytesOf = (streams: Iterable<Kept>): number =>
  [...streams].reduce((sum, { batches }) => sum + sizeOf(batches.flat()), 0)

/** Returns the newest items that fit, but at least one. */
const newest = <A>(all: ReadonlyArray<A>, sizeOf: (one: A) => number): ReadonlyArray<A> => {
  let left = all
  const total = () => left.reduce((sum, one) => sum + sizeOf(one), 0)
  while (left.length > 1 && total() > maxBytesPerStream) left = left.slice(1)
  return left
}

class Model {
  readonly store = makeMemory(limits)
  private streams = new Map<string, Kept>()
  private readonly next = new Map<string, number>()
  private time = 0

  private of(session: string): ReadonlyArray<Kept> {
    return [...this.streams.values()].filter((kept) => kept.session === session)
  }

  /** Returns the events of a stream that the store has. */
  private readonly seen = (name: string) => {
    const [session = "", stream = ""] = name.split(" ")
    const events = this.streams.get(name)?.batches.flat() ?? []
    const from = (events[0]?.seq ?? 0) - 1
    return Effect.match(this.store.after({ session, stream }, from), {
      onFailure: () => undefined,
      onSuccess: (seen) => {
        assert.deepStrictEqual(seen, events, `the events of ${name}`)
        return seen
      }
    })
  }

  readonly append = Effect.fnUntraced(function* (this: Model, key: typeof Key.Type, sizes: ReadonlyArray<number>) {
    const name = `${key.session} ${key.stream}`
    let seq = this.next.get(name) ?? 0
    const events = sizes.map((size): Event => ({ seq: seq++, text: "x".repeat(size) }))
    this.next.set(name, seq)
    yield* this.store.append(key, events)
    if (events.length === 0) return
    const known = this.streams.get(name)?.batches ?? []
    const batches = newest([...known, newest(events, (event) => event.text.length)], sizeOf)
    this.streams.set(name, { session: key.session, batches, at: this.time++ })
    yield* this.dropped(name)
  })

  /** Checks which streams were dropped for an append, and whether they had to be. */
  private readonly dropped = Effect.fnUntraced(function* (this: Model, appended: string) {
    const gone: Array<Kept> = []
    for (const [name, kept] of this.streams) {
      if ((yield* this.seen(name)) !== undefined) continue
      assert.notStrictEqual(name, appended)
      gone.push(kept)
      this.streams.delete(name)
    }
    const spared = this.streams.get(appended)
    const session = spared?.session ?? ""
    const total = bytesOf(this.streams.values())
    assert.isTrue(total <= maxBytes || this.streams.size === 1, "all together keep to their limit")
    assert.isTrue(bytesOf(this.of(session)) <= maxBytesPerSession || this.of(session).length === 1, "the session, too")
    for (const one of gone) {
      const size = bytesOf([one])
      const forSession = one.session === session && bytesOf(this.of(session)) + size > maxBytesPerSession
      const later = gone.filter((other) => other.session === one.session && other.at > one.at)
      const left = this.of(one.session).filter((other) => other !== spared)
      assert.isTrue(
        left.every((other) => other.at > one.at),
        "the stream that was quiet longest goes first"
      )
      if (forSession || later.length > 0) continue
      // The last stream dropped from its session: there was no room for it, and no other session kept more than twice as much.
      const others = gone.filter((other) => other.session !== one.session)
      assert.isTrue(total + size + bytesOf(others) > maxBytes, "nothing goes without need")
      if (others.length === 0) assert.isTrue(total + size > maxBytes, "nothing goes without need")
      const before = bytesOf(this.of(one.session)) + size
      for (const other of ["a", "b", "c"]) {
        const droppable = this.of(other).some((kept) => kept !== spared)
        if (droppable) assert.isTrue(bytesOf(this.of(other)) < before * 2, "a session that keeps much is first")
      }
    }
  })

  readonly forget = Effect.fnUntraced(function* (this: Model, { session, stream }: typeof Key.Type, whole: boolean) {
    yield* whole ? this.store.forget(session) : this.store.forget(session, stream)
    for (const [name, kept] of this.streams) {
      if (whole ? kept.session === session : name === `${session} ${stream}`) this.streams.delete(name)
    }
    for (const name of this.streams.keys()) assert.isDefined(yield* this.seen(name))
  })

  /** Once everything is forgotten, there is as much room as in the beginning. */
  readonly finish = Effect.gen({ self: this }, function* () {
    for (const session of ["a", "b", "c"]) yield* this.store.forget(session)
    const full = ["d", "e", "f"].map((session) => ({ session, stream: "0" }))
    for (const key of full) yield* this.store.append(key, [{ seq: 0, text: "x".repeat(maxBytesPerStream) }])
    for (const key of full) assert.strictEqual((yield* this.store.after(key, -1)).length, 1)
  })
}

describe("The in-memory event store in random histories", () => {
  it.effect.prop(
    "Only as many streams are dropped as the limit requires",
    { script: Arbitrary.array(Arbitrary.schema(Command), { maxLength: 40 }) },
    ({ script }) =>
      Effect.gen(function* () {
        const model = new Model()
        for (const command of script) {
          yield* command._tag === "Append"
            ? model.append(command.key, command.sizes)
            : model.forget(command.key, command.whole)
        }
        yield* model.finish
      }),
    { arbitrary: { runs: 500, size: 40, seed: 20261122 } }
  )

  it.effect("A session with many events loses only its own streams", () =>
    Effect.gen(function* () {
      const store = makeMemory()
      const text = "x".repeat(1024 * 1024)
      yield* store.append({ session: "quiet", stream: "0" }, [{ seq: 0, text: "here" }])
      for (const session of ["loud", "loud too", "loud as well", "loud also", "loud again"]) {
        for (let stream = 0; stream < 80; stream++) {
          yield* store.append({ session, stream: `${stream}` }, [{ seq: 0, text }])
        }
      }
      assert.strictEqual((yield* store.after({ session: "quiet", stream: "0" }, -1)).length, 1)
    })
  )
})
