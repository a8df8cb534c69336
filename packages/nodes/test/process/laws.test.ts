/** The laws that every kind of network must keep, regardless of its store. */
import { EncodedResult } from "@effect-mcp/core/EncodedResult"
import * as McpError from "@effect-mcp/protocol/McpError"
import type { Nodes } from "@effect-mcp/nodes"
import { Nodes as Node, type SessionRecord } from "@effect-mcp/server/Nodes"
import { ReplayGuard } from "@effect-mcp/server/ReplayGuard"
import { StateSeal } from "@effect-mcp/server/StateSeal"
import { scaled } from "@effect-mcp/spec/Scale"
import { needs } from "@effect-mcp/spec/skip"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Context, Deferred, Effect, Exit, Fiber, Layer, Scope } from "effect"
import { Directory } from "../../src/directory/Directory.ts"
import { networks } from "../support/networks.ts"

const record = (logLevel?: SessionRecord["logLevel"]): SessionRecord => ({
  server: "test",
  owner: "",
  version: "2025-11-25",
  clientInfo: { name: "client", version: "1" },
  clientCapabilities: { sampling: {} },
  logLevel,
  subscriptions: ["test://nul\u0000"]
})

/** A node with a separate scope. */
const join = (layer: Layer.Layer<Nodes.Services>) =>
  Effect.gen(function* () {
    const scope = yield* Scope.fork(yield* Effect.scope)
    const context = yield* Layer.buildWithScope(Layer.fresh(layer), scope)
    return {
      ...Context.get(context, Node),
      guard: Context.get(context, ReplayGuard),
      seal: Context.get(context, StateSeal),
      leave: Scope.close(scope, Exit.void)
    }
  })

/** Events of a stream. */
const eventsEach = scaled(500, 15_000)
const eventsOf = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, at) => ({
    seq: from + at,
    text: `id: 1-${from + at}\ndata: é${from + at}\n\n`
  }))

for (const { missing, name, open } of networks) {
  const nodes = (count: number) =>
    Effect.flatMap(open, (layerOf) =>
      Effect.forEach(Array.from({ length: count }), () => join(layerOf({ lease: "20 seconds" })))
    )

  describe(`Networks over ${name}`, needs(missing === undefined, missing ?? ""), () => {
    it.live("Each session is held by one node, and other nodes find it there until it is closed", () =>
      Effect.gen(function* () {
        const [a, b] = yield* nodes(2)
        yield* a!.directory.open("s", record())
        assert.strictEqual((yield* a!.directory.locate("s"))._tag, "Here")
        assert.strictEqual((yield* b!.directory.locate("s"))._tag, "There")
        assert.strictEqual((yield* b!.directory.locate("another"))._tag, "Unknown")
        yield* b!.directory.close("s")
        assert.strictEqual((yield* b!.directory.locate("s"))._tag, "There")
        yield* a!.directory.close("s")
        assert.strictEqual((yield* b!.directory.locate("s"))._tag, "Unknown")
      })
    )

    it.live("When a node leaves, exactly one other node takes over its session with the newest record", () =>
      Effect.gen(function* () {
        const [a, b, c] = yield* nodes(3)
        yield* a!.directory.open("s", record())
        yield* a!.directory.save("s", record("error"))
        yield* b!.directory.save("s", record("debug"))
        const there = yield* b!.directory.locate("s")
        assert(b!.directory instanceof Directory)
        const gone = yield* Effect.forkChild(b!.directory.gone(there._tag === "There" ? there.node : ""))
        yield* a!.leave
        yield* Fiber.join(gone)
        const found = yield* Effect.all(
          [b!, c!, b!, c!].map(({ directory }) => directory.locate("s")),
          { concurrency: "unbounded" }
        )
        const here = found.flatMap((one, at) => (one._tag === "Here" ? [{ at: at % 2, one }] : []))
        assert.deepStrictEqual(new Set(here.map(({ at }) => at)).size, 1)
        for (const { one } of here) {
          assert.deepStrictEqual([one.epoch, one.record], [2, record("error")])
        }
      })
    )

    it.live("A released session is taken over by the next node asked, and no other session moves", () =>
      Effect.gen(function* () {
        const [a, b, c] = yield* nodes(3)
        yield* a!.directory.open("s", record("error"))
        yield* a!.directory.open("kept", record())
        yield* b!.directory.open("another", record())
        yield* a!.directory.release(["s", "another", "unknown"])
        assert.deepStrictEqual(yield* c!.directory.locate("s"), { _tag: "Here", epoch: 2, record: record("error") })
        const tags = Effect.map(
          Effect.forEach(["s", "kept", "another", "unknown"], (id) => a!.directory.locate(id)),
          (found) => found.map(({ _tag }) => _tag)
        )
        assert.deepStrictEqual(yield* tags, ["There", "Here", "There", "Unknown"])
        yield* c!.directory.release(["s"])
        assert.strictEqual((yield* a!.directory.locate("s"))._tag, "Here")
      })
    )

    it.live("Every node reads the events after a position in order, or none if some are gone", () =>
      Effect.gen(function* () {
        const [a, b] = yield* nodes(2)
        const key = { session: "s", stream: "1" }
        yield* a!.directory.open("s", record())
        yield* a!.events.append(key, eventsOf(0, 3))
        yield* a!.events.append(key, eventsOf(3, 5))
        assert.deepStrictEqual(yield* b!.events.after(key, 1), eventsOf(2, 5))
        assert.deepStrictEqual(yield* b!.events.after(key, 4), [])
        assert.strictEqual((yield* Effect.flip(b!.events.after({ ...key, stream: "2" }, 0)))._tag, "EventsGone")
        const long = "x".repeat(1024 * 1024)
        for (let seq = 5; seq < 10; seq++) yield* a!.events.append(key, [{ seq, text: long }])
        assert.strictEqual((yield* Effect.flip(b!.events.after(key, 1)))._tag, "EventsGone")
        assert.deepStrictEqual(yield* b!.events.after(key, 8), [{ seq: 9, text: long }])
        yield* a!.events.forget("s")
        assert.strictEqual((yield* Effect.flip(b!.events.after(key, 8)))._tag, "EventsGone")
      })
    )

    it.live(
      "Ten streams written by three nodes at once reach a fourth node in order, without a lost event",
      () =>
        Effect.gen(function* () {
          const [reader, ...writers] = yield* nodes(4)
          const keys = Array.from({ length: 10 }, (_, at) => ({ session: `s${at}`, stream: "1" }))
          const write = Effect.fnUntraced(function* (key: (typeof keys)[number], at: number) {
            const { directory, events } = writers[at % writers.length]!
            yield* directory.open(key.session, record())
            // Writes of one to twenty events.
            for (let seq = 0, size = 1; seq < eventsEach; seq += size, size = (size % 20) + 1) {
              yield* events.append(key, eventsOf(seq, Math.min(seq + size, eventsEach)))
            }
          })
          yield* Effect.forEach(keys, write, { concurrency: "unbounded", discard: true })
          for (const key of keys) assert.deepStrictEqual(yield* reader!.events.after(key, 0), eventsOf(1, eventsEach))
        }),
      120_000
    )

    it.live("A used state gets the same reply on every node", () =>
      Effect.gen(function* () {
        const [a, b] = yield* nodes(2)
        const expires = Date.now() + 60_000
        const go = yield* Deferred.make<void>()
        const never = Effect.die(new Error("The handler runs twice"))
        const first = yield* Effect.forkChild(a!.guard.once("j", expires, Effect.as(Deferred.await(go), { n: 1 })), {
          startImmediately: true
        })
        yield* Effect.sleep("100 millis")
        const second = yield* Effect.forkChild(b!.guard.once("j", expires, never))
        yield* Deferred.succeed(go, undefined)
        assert.deepStrictEqual([yield* Fiber.join(first), yield* Fiber.join(second)], [{ n: 1 }, { n: 1 }])
        const error = McpError.invalidParams("no", { field: "n" })
        yield* Effect.flip(a!.guard.once("e", expires, Effect.fail(error)))
        const again = yield* Effect.flip(b!.guard.once("e", expires, never))
        assert.deepStrictEqual([again.code, again.message, again.data], [error.code, error.message, error.data])
        const asked = EncodedResult.core("input_required", { requestState: "x" })
        yield* a!.guard.once("r", expires, Effect.succeed(asked))
        assert.deepStrictEqual(yield* b!.guard.once("r", expires, never), asked)
        yield* Effect.exit(a!.guard.once("d", expires, Effect.interrupt))
        assert.strictEqual(yield* b!.guard.once("d", expires, Effect.succeed("anew")), "anew")
      })
    )

    it.live("A state that has expired by the store's clock cannot be used, even if a node's clock is slow", () =>
      Effect.gen(function* () {
        const [a] = yield* nodes(1)
        const expires = (yield* Clock.currentTimeMillis) - 1000
        const used = yield* Effect.flip(a!.guard.once("late", expires, Effect.die("The handler runs")))
        assert.deepStrictEqual([used.code, used.message], [-32602, "Invalid or expired requestState"])
      })
    )

    it.live("A state used on many nodes at once runs its handler once", () =>
      Effect.gen(function* () {
        const [a, b, c] = yield* nodes(3)
        const expires = (yield* Clock.currentTimeMillis) + 60_000
        for (let state = 0; state < 10; state++) {
          let runs = 0
          const handler = Effect.sync(() => ++runs)
          const uses = [a!, b!, c!, a!, b!, c!].map(({ guard }) => guard.once(`${state}`, expires, handler))
          assert.deepStrictEqual(yield* Effect.all(uses, { concurrency: "unbounded" }), [1, 1, 1, 1, 1, 1])
        }
      })
    )

    it.live("Hints reach all other nodes, and a sealed state opens on every node", () =>
      Effect.gen(function* () {
        const [a, b, c] = yield* nodes(3)
        const heard: Array<string> = []
        const done = yield* Deferred.make<void>()
        yield* a!.bus.subscribe("topic", (text) => heard.push(`a ${text}`))
        for (const [name, node] of [
          ["b", b!],
          ["c", c!]
        ] as const) {
          yield* node.bus.subscribe("topic", (text) => {
            heard.push(`${name} ${text}`)
            if (heard.some((one) => one.startsWith("b")) && heard.some((one) => one.startsWith("c"))) {
              Deferred.doneUnsafe(done, Effect.void)
            }
          })
        }
        // A node may not be connected to the bus yet.
        yield* Effect.forkScoped(
          Effect.forever(
            Effect.andThen(
              Effect.sync(() => a!.bus.publish("topic", "x")),
              Effect.sleep("50 millis")
            )
          )
        )
        yield* Deferred.await(done)
        assert.deepStrictEqual([...new Set(heard)].toSorted(), ["b x", "c x"])
        const journal = { answers: {}, steps: {}, open: {}, round: 1 }
        const { journal: opened } = yield* b!.seal.open(yield* a!.seal.seal(journal, "binding"), "binding")
        assert.deepStrictEqual(opened, journal)
      })
    )
  })
}
