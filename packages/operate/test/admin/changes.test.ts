import { Elicitation, Tool, Tools } from "@effect-mcp/core"
import type { Admin } from "@effect-mcp/operate"
import { changes } from "../../src/admin/changes.ts"
import { McpServer } from "@effect-mcp/server"
import { Journal, Tasks, TaskStore } from "@effect-mcp/tasks"
import * as Memory from "@effect-mcp/tasks/internal/memory"
import { quiesce } from "@effect-mcp/testing/Quiesce"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Fiber, Layer, Queue, Stream } from "effect"
import { TestClock } from "effect/testing"

const empty: Admin.Snapshot = { time: 0, draining: false, sessions: [], requests: [] }

/** A source of changes that counts the reads of its snapshot. */
const source = Effect.gen(function* () {
  const announced = yield* Queue.sliding<void>(1)
  const counts = { reads: 0 }
  const snapshot = Effect.sync(() => ({ ...empty, time: ++counts.reads }))
  const requests = {
    list: Effect.succeed([]),
    interrupt: () => Effect.succeed(false),
    changes: Stream.fromQueue(announced)
  }
  return { announced, counts, lines: yield* changes({ requests }, { isShared: false, snapshot }) }
})

/** A caller that follows the changes, and the times of the snapshots it received. */
const follower = (lines: Stream.Stream<Uint8Array>) =>
  Effect.gen(function* () {
    const seen: Array<number> = []
    const fiber = yield* lines.pipe(
      Stream.decodeText(),
      Stream.splitLines,
      Stream.runForEach((line) => Effect.sync(() => void seen.push(JSON.parse(line).time))),
      Effect.forkChild({ startImmediately: true })
    )
    yield* quiesce
    return { seen, fiber }
  })

describe("Admin endpoint changes", () => {
  it.effect("One snapshot read serves all followers, and a new follower starts with the latest", () =>
    Effect.gen(function* () {
      const { announced, counts, lines } = yield* source
      assert.strictEqual(counts.reads, 0, "nothing is read while there is no follower")
      const all = yield* Effect.forEach(Array.from({ length: 16 }), () => follower(lines))
      assert.strictEqual(counts.reads, 1)
      Queue.offerUnsafe(announced, undefined)
      yield* TestClock.adjust("1 second")
      assert.strictEqual(counts.reads, 2)
      for (const { seen } of all) assert.deepStrictEqual(seen, [1, 2])
      assert.deepStrictEqual((yield* follower(lines)).seen, [2])
      assert.strictEqual(counts.reads, 2)
    })
  )

  it.effect("Snapshots stop when the last follower leaves and restart for the next", () =>
    Effect.gen(function* () {
      const { counts, lines } = yield* source
      const { fiber } = yield* follower(lines)
      const other = yield* follower(lines)
      yield* Fiber.interrupt(fiber)
      yield* TestClock.adjust("6 seconds")
      assert.strictEqual(counts.reads, 2, "the other follower reads on")
      yield* Fiber.interrupt(other.fiber)
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(counts.reads, 2)
      assert.deepStrictEqual((yield* follower(lines)).seen, [3])
    })
  )

  it.effect("Changes do not wait for a slow follower and keep only its latest line", () =>
    Effect.gen(function* () {
      const { counts, lines } = yield* source
      const slow: Array<string> = []
      const pulled = yield* Queue.bounded<void>(1)
      const fiber = yield* lines.pipe(
        Stream.decodeText(),
        Stream.runForEach((line) =>
          Effect.andThen(
            Effect.sync(() => slow.push(line)),
            Queue.take(pulled)
          )
        ),
        Effect.forkChild({ startImmediately: true })
      )
      const { seen } = yield* follower(lines)
      for (let i = 0; i < 10; i++) yield* TestClock.adjust("6 seconds")
      assert.strictEqual(seen.at(-1), counts.reads)
      assert.isAtLeast(counts.reads, 10)
      assert.lengthOf(slow, 1)
      yield* Fiber.interrupt(fiber)
    })
  )

  it.effect("A store is queried for its parked tasks once for all followers", () =>
    Effect.gen(function* () {
      let reads = 0
      const counted = Layer.effectContext(
        Effect.map(Layer.build(Memory.layer()), (context) => {
          const journal = Context.get(context, Journal.Journal)
          return Context.make(TaskStore.TaskStore, Context.get(context, TaskStore.TaskStore)).pipe(
            Context.add(Journal.Journal, {
              ...journal,
              parked: (max) =>
                Effect.andThen(
                  Effect.sync(() => void reads++),
                  journal.parked(max)
                )
            })
          )
        })
      )
      const asks = Tool.make("asks", { description: "Asks", task: "required" })
      const features = Layer.merge(
        Tools.layer(asks, () => Effect.as(Elicitation.confirm("Go on?"), "asked")),
        Layer.provide(Tasks.layerStore(), counted)
      )
      const context = yield* Layer.build(McpServer.layer({ name: "test", version: "1", features }))
      const { requests } = Context.get(context, McpServer.McpServer)
      // The first read loads a module, which a test clock doesn't wait for.
      yield* requests.list
      reads = 0
      const snapshot = Effect.as(requests.list, empty)
      const lines = yield* changes({ requests }, { isShared: false, snapshot })
      const followers = yield* Effect.forEach(Array.from({ length: 8 }), () => follower(lines))
      assert.strictEqual(reads, 1)
      yield* Fiber.interruptAll(followers.map(({ fiber }) => fiber))
    })
  )
})
