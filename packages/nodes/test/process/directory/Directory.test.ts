/** The directory when its store is slow or temporarily unreachable. */
import { NodesUnavailable } from "@effect-mcp/server/Nodes"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Deferred, Effect, Exit, Logger, Queue } from "effect"
import { TestClock } from "effect/testing"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { Directory } from "../../../src/directory/Directory.ts"
import { Network } from "../../../src/memory/Network.ts"
import type { DirectoryStore } from "../../../src/directory/DirectoryStore.ts"
import { nameOf, processOf } from "../../../src/relay/NodeId.ts"
import { record } from "../../support/record.ts"

const times = { lease: 1200, grace: 300, kept: 600_000 }

const away = Effect.fail(new NodesUnavailable({ message: "The store is away" }))

/** A store whose operations fail or hang on command. */
const storeOf = (network = new Network()) => {
  const inner = network.store(times)
  const state = { isAway: false, hangs: "", closes: 0 }
  const step =
    <Args extends ReadonlyArray<unknown>, A, E>(run: (...args: Args) => Effect.Effect<A, E>) =>
    (...args: Args): Effect.Effect<A, E | NodesUnavailable> =>
      Effect.suspend((): Effect.Effect<A, E | NodesUnavailable> => (state.isAway ? away : run(...args)))
  const store: DirectoryStore = {
    join: step(inner.join),
    renew: (node) => (state.hangs === "renew" ? Effect.never : step(inner.renew)(node)),
    leave: step(inner.leave),
    alive: step(inner.alive),
    // Like Redis: only the named sessions.
    inherit: step((from, to, ids) =>
      Effect.filter(ids, (id) =>
        Effect.flatMap(inner.claim(from, id), (entry) =>
          entry?.node === from
            ? Effect.as(Effect.andThen(inner.close(from, [id]), inner.open(to, id, entry.record)), true)
            : Effect.succeed(false)
        )
      )
    ),
    release: step(inner.release),
    open: step(inner.open),
    claim: step(inner.claim),
    save: step(inner.save),
    close: (node, ids) => {
      state.closes++
      return state.hangs === "close" ? Effect.never : step(inner.close)(node, ids)
    },
    sweep: step(inner.sweep)
  }
  return { state, store }
}

const relay = { named: () => {}, asked: () => [], cut: () => {}, hasLeft: () => false, leave: Effect.void }
const directoryAt = (address: string, store: DirectoryStore) => Directory.make({ store, times, address, relay })

/** Starts a local process that does nothing. */
const sleeper = Effect.acquireRelease(
  Effect.sync(() => spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "ignore" })),
  (child) => Effect.sync(() => void child.kill("SIGKILL"))
)

describe("Directory", () => {
  it.effect.skipIf(processOf(1) === undefined)(
    "A local node counts as gone once its process is dead, but not while frozen",
    () =>
      Effect.gen(function* () {
        const { store } = storeOf()
        const [a, b] = [yield* directoryAt("a", store), yield* directoryAt("b", store)]
        const child = yield* sleeper
        const node = nameOf("127.0.0.1:7000", processOf(child.pid ?? 0))
        yield* store.join(node)
        const waiting = [yield* Effect.forkScoped(a.gone(node)), yield* Effect.forkScoped(b.gone(node))]
        child.kill("SIGSTOP")
        yield* TestClock.adjust(1000)
        assert.deepStrictEqual(
          waiting.map((fiber) => fiber.pollUnsafe()),
          [undefined, undefined]
        )
        const exited = once(child, "exit")
        child.kill("SIGKILL")
        yield* Effect.promise(() => exited)
        yield* TestClock.adjust(100)
        for (const fiber of waiting) assert.deepStrictEqual(fiber.pollUnsafe(), Exit.void)
        // If it were still alive, it would have to join again.
        assert.isFalse(yield* store.renew(node))
      })
  )

  it.effect.skipIf(processOf(1) === undefined)("A node at a foreign address counts as gone only after its lease", () =>
    Effect.gen(function* () {
      const { store } = storeOf()
      const directory = yield* directoryAt("a", store)
      const child = yield* sleeper
      const exited = once(child, "exit")
      child.kill("SIGKILL")
      yield* Effect.promise(() => exited)
      // A documentation address (RFC 5737) and a name, whose machines are unknown.
      const nodes = ["192.0.2.1:7000", "node.invalid:7000"].map((at) => nameOf(at, processOf(child.pid ?? 0)))
      yield* Effect.forEach(nodes, (node) => store.join(node))
      const waiting = yield* Effect.forEach(nodes, (node) => Effect.forkScoped(directory.gone(node)))
      yield* TestClock.adjust(1499)
      for (const fiber of waiting) assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust(100)
      for (const fiber of waiting) assert.deepStrictEqual(fiber.pollUnsafe(), Exit.void)
    })
  )

  it.effect("A directory polls its store for all waiting requests together", () =>
    Effect.gen(function* () {
      const { store } = storeOf()
      let looks = 0
      const counted: DirectoryStore = {
        ...store,
        alive: (nodes) => Effect.suspend(() => (looks++, store.alive(nodes)))
      }
      const directory = yield* directoryAt("a", counted)
      yield* TestClock.adjust(60)
      yield* store.join("lives b")
      const waiting = yield* Effect.forkScoped(
        Effect.all(
          Array.from({ length: 100 }, () => directory.gone("lives b")),
          { concurrency: "unbounded" }
        )
      )
      yield* TestClock.adjust(1499)
      assert.isUndefined(waiting.pollUnsafe())
      assert.isAtMost(looks, 40)
      yield* TestClock.adjust(56)
      assert.isDefined(waiting.pollUnsafe())
      const before = looks
      yield* TestClock.adjust(10_000)
      assert.strictEqual(looks, before)
    })
  )

  it.effect("A directory asks the store before it reports a node as gone", () =>
    Effect.gen(function* () {
      const { store } = storeOf()
      const [asked, answer] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const held: DirectoryStore = {
        ...store,
        alive: (nodes) =>
          Effect.andThen(Deferred.succeed(asked, undefined), Effect.andThen(Deferred.await(answer), store.alive(nodes)))
      }
      const directory = yield* directoryAt("a", held)
      const told: Array<string> = []
      const watch = (node: string) =>
        Effect.forkScoped(
          Effect.andThen(
            directory.gone(node),
            Effect.sync(() => told.push(node))
          ),
          { startImmediately: true }
        )
      yield* store.join("lives")
      yield* watch("dead")
      yield* TestClock.adjust(250)
      yield* Deferred.await(asked)
      yield* watch("lives")
      yield* Deferred.succeed(answer, undefined)
      yield* TestClock.adjust(750)
      assert.deepStrictEqual(told, ["dead"])
    })
  )

  it.effect("A directory tells the relay which nodes are gone and when its own name changes", () =>
    Effect.gen(function* () {
      const { state, store } = storeOf()
      const [names, gone] = [yield* Queue.unbounded<string>(), yield* Queue.unbounded<string>()]
      const directory = yield* Directory.make({
        store,
        times,
        address: "a",
        relay: {
          ...relay,
          named: (name) => Queue.offerUnsafe(names, name),
          asked: () => ["lives b", "dead c"],
          cut: (node) => Queue.offerUnsafe(gone, node)
        }
      })
      assert.strictEqual(yield* Queue.take(names), directory.node)
      yield* store.join("lives b")
      yield* TestClock.adjust(1000)
      assert.strictEqual(yield* Queue.take(gone), "dead c")
      assert.notInclude(yield* Queue.clear(gone), "lives b")
      state.isAway = true
      yield* TestClock.adjust(1300)
      state.isAway = false
      yield* TestClock.adjust(400)
      assert.strictEqual(yield* Queue.take(names), directory.node)
    })
  )

  it.effect("A directory logs once that its store is down, and once that it is back", () => {
    const lines: Array<string> = []
    const log = Logger.make(({ message }) => {
      lines.push(String([message].flat()[0]))
    })
    return Effect.gen(function* () {
      const { state, store } = storeOf()
      const directory = yield* directoryAt("a", store)
      const look = Effect.ignore(directory.locate("s"))
      for (let outage = 1; outage <= 2; outage++) {
        for (let at = 0; at < 100; at++) {
          state.isAway = at % 2 === 0
          yield* look
        }
        state.isAway = false
        yield* TestClock.adjust("6 seconds")
        yield* look
      }
      const once = [
        "The session directory is not responding",
        "The session directory is responding again after 50 failures"
      ]
      assert.deepStrictEqual(lines, [...once, ...once])
    }).pipe(Effect.provide(Logger.layer([log])))
  })

  it.effect("A lost lease is logged once by its node and by each node that notices it", () => {
    const lines: Array<string> = []
    const log = Logger.make(({ message }) => {
      lines.push(String([message].flat()[0]))
    })
    return Effect.gen(function* () {
      const network = new Network()
      const { state, store } = storeOf(network)
      const a = yield* directoryAt("a", store)
      const before = a.node
      const b = yield* Directory.make({
        store: network.store(times),
        times,
        address: "b",
        relay: { ...relay, asked: () => [before] }
      })
      const [ids, lost] = [["s", "t"], new Array<string>()]
      yield* a.hold({ ids: () => ids, lost: (id) => lost.push(id) })
      for (const id of ids) yield* a.open(id, record)
      state.hangs = "renew"
      yield* TestClock.adjust("3 seconds")
      assert.strictEqual((yield* b.locate("s"))._tag, "Here")
      state.hangs = ""
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(lost, ["s"])
      assert.deepStrictEqual([a.lostLeases, b.lostLeases], [1, 0])
      const gone = lines.filter((line) => line.startsWith("Node "))
      assert.strictEqual(gone.length, 1)
      assert.include(gone[0], before)
      const own = lines.filter((line) => line.includes("This node lost its lease"))
      assert.strictEqual(own.length, 1)
      assert.include(own[0], "took over 1 of its sessions")
    }).pipe(Effect.provide(Logger.layer([log])))
  })

  it.effect("A node that announced that it is leaving causes no warning", () => {
    const lines: Array<string> = []
    const log = Logger.make(({ message }) => {
      lines.push(String([message].flat()[0]))
    })
    return Effect.gen(function* () {
      const { store } = storeOf()
      const gone = yield* Queue.unbounded<string>()
      const cut = (node: string) => Queue.offerUnsafe(gone, node)
      const asked = () => ["left b", "dead c"]
      const hasLeft = (node: string) => node === "left b"
      yield* Directory.make({ store, times, address: "a", relay: { ...relay, asked, cut, hasLeft } })
      yield* TestClock.adjust(1000)
      assert.includeMembers(yield* Queue.clear(gone), ["left b", "dead c"])
      assert.deepStrictEqual(
        lines.map((line) => /^Node (.*) lost its lease/.exec(line)?.[1]),
        ["dead c"]
      )
    }).pipe(Effect.provide(Logger.layer([log])))
  })

  it.effect("A node writes its last responses before it gives up its lease", () =>
    Effect.gen(function* () {
      const { store } = storeOf()
      const steps: Array<string> = []
      const step = (name: string) => Effect.sync(() => void steps.push(name))
      const leaving: DirectoryStore = { ...store, leave: (node) => Effect.andThen(step("lease"), store.leave(node)) }
      const directory = Directory.make({
        store: leaving,
        times,
        address: "a",
        relay: { ...relay, leave: step("responses") }
      })
      yield* Effect.scoped(directory)
      assert.deepStrictEqual(steps, ["responses", "lease"])
    })
  )

  it.effect("A response is read even if it arrives with the news that its node has left", () =>
    Effect.gen(function* () {
      const { store } = storeOf()
      const asked = new Set(["left b", "dead c"])
      const cut: Array<string> = []
      // Both have arrived when the store's answer is read, which comes first.
      const alive: DirectoryStore["alive"] = () =>
        Effect.callback((resume) => {
          setImmediate(() => resume(Effect.succeed([])))
          setImmediate(() => asked.delete("left b"))
        })
      yield* Directory.make({
        store: { ...store, alive },
        times,
        address: "a",
        relay: { ...relay, asked: () => asked, cut: (node) => asked.has(node) && cut.push(node) }
      })
      yield* TestClock.adjust(300)
      yield* Effect.repeat(
        Effect.promise(() => new Promise(setImmediate)),
        { times: 5 }
      )
      assert.deepStrictEqual(cut, ["dead c"])
    })
  )

  it.effect("A directory is cut off once its last renewal's lease expires, until the store answers again", () =>
    Effect.gen(function* () {
      const { state, store } = storeOf()
      const directory = yield* directoryAt("a", store)
      yield* TestClock.adjust(1200)
      assert.isFalse(directory.isCutOff)
      state.isAway = true
      yield* TestClock.adjust(1200)
      assert.isFalse(directory.isCutOff)
      yield* TestClock.adjust(1)
      assert.isTrue(directory.isCutOff)
      state.isAway = false
      yield* TestClock.adjust(400)
      assert.isFalse(directory.isCutOff)
    })
  )

  it.effect("A directory is cut off after the machine was suspended, while its monotonic clock stood still", () =>
    Effect.gen(function* () {
      const clock = yield* Clock.Clock
      const suspended: Clock.Clock = Object.assign(Object.create(clock), { monotonicTimeNanosUnsafe: () => 0n })
      const { state, store } = storeOf()
      const directory = yield* Effect.provideService(directoryAt("a", store), Clock.Clock, suspended)
      state.isAway = true
      yield* TestClock.adjust(1201)
      assert.isTrue(directory.isCutOff)
    })
  )

  it.effect("A directory renews again at once if a renewal gets no answer", () =>
    Effect.gen(function* () {
      const { state, store } = storeOf()
      const directory = yield* directoryAt("a", store)
      const { node } = directory
      state.hangs = "renew"
      yield* TestClock.adjust(400)
      state.hangs = ""
      yield* TestClock.adjust(400)
      yield* TestClock.adjust(800)
      assert.deepStrictEqual([directory.node, yield* store.alive([node])], [node, [node]])
    })
  )

  it.effect("A directory removes sessions that ended during an outage, in batches", () =>
    Effect.gen(function* () {
      const { state, store } = storeOf()
      const directory = yield* directoryAt("a", store)
      const ids = Array.from({ length: 2000 }, (_, at) => `s${at}`)
      for (const id of ids) yield* directory.open(id, record)
      state.isAway = true
      for (const id of ids) yield* directory.close(id)
      state.isAway = false
      state.closes = 0
      yield* TestClock.adjust(400)
      assert.strictEqual(state.closes, 4)
      for (const id of ids) assert.strictEqual(yield* store.claim("another", id), undefined)
    })
  )

  it.effect("A directory keeps its lease even if removing sessions that ended during an outage hangs", () =>
    Effect.gen(function* () {
      const { state, store } = storeOf()
      const directory = yield* directoryAt("a", store)
      const { node } = directory
      yield* directory.open("s", record)
      state.isAway = true
      yield* directory.close("s")
      state.isAway = false
      state.hangs = "close"
      yield* TestClock.adjust(4000)
      assert.deepStrictEqual([directory.node, yield* store.alive([node])], [node, [node]])
    })
  )

  it.effect("A session that ended during an outage is removed even if the outage outlasts the lease", () =>
    Effect.gen(function* () {
      const { state, store } = storeOf()
      const directory = yield* directoryAt("a", store)
      yield* directory.open("s", record)
      state.isAway = true
      yield* directory.close("s")
      yield* TestClock.adjust(3000)
      state.isAway = false
      yield* TestClock.adjust(1600)
      assert.strictEqual((yield* directory.locate("s"))._tag, "Unknown")
      assert.strictEqual(yield* store.claim("another", "s"), undefined)
    })
  )
})
