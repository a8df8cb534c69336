/**
 * Checks that a task has the same outcome no matter when its node crashes.
 *
 * Runs a handler as a task once for each crash point, which is just before or just after a write to the task's journal. Each run has its
 * own clock. After the crash, another node continues the task from the same store. The check compares the outcomes and how often each step
 * started.
 */
import { isSuspension } from "@effect-mcp/server/internal/Replay"
import type { RequestServices } from "@effect-mcp/core/RequestContext"
import * as Memory from "@effect-mcp/tasks/internal/memory"
import { Journal } from "@effect-mcp/tasks/Journal"
import * as Tasks from "@effect-mcp/tasks/Tasks"
import { TaskStore } from "@effect-mcp/tasks/TaskStore"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as TestClock from "effect/testing/TestClock"
import { Node, type Point } from "./CrashPointsNode.ts"
import { describe, sameExit } from "../engine/Exits.ts"
import { handlerTool } from "../engine/handlers.ts"
import { atEachPlace } from "../engine/places.ts"
import { inWorld } from "../engine/Run.ts"
import * as McpTest from "../McpTest.ts"

export type { Point } from "./CrashPointsNode.ts"

/** A single run of a handler. */
export interface CrashRun<A, E> {
  /** The point at which the first node crashed, or `undefined` if it survived. */
  readonly point: Point | undefined
  readonly exit: Exit.Exit<A, E>
  /** Names of the steps started on either node, in order. */
  readonly steps: ReadonlyArray<string>
}

/** The task's outcome changed after a crash, or a step started more often than the crash explains. */
export class CrashMismatch extends Data.TaggedError("CrashMismatch")<{
  readonly message: string
  /** All runs up to and including the mismatch. */
  readonly runs: ReadonlyArray<CrashRun<unknown, unknown>>
  /** Number of crash points: two for each write. */
  readonly points: number
}> {}

/** Options for a check. */
export interface Options<A, E, W, X> {
  /** Runs after each run, in its world. Use it to check the world, for example that the shop has exactly one order. */
  readonly after?: ((run: CrashRun<A, E>) => Effect.Effect<unknown, X, NoInfer<W>>) | undefined
  /** Time limit for the task, measured by its own clock. Default: 1 day. */
  readonly within?: Duration.Input | undefined
}

/**
 * Runs `handler` as a task and crashes its node just before or just after each write to the journal: a step, a question, a sleep, a
 * message, a released lease, or the end. Each run has a fresh `world`, which survives the crash. It provides the services the handler
 * needs, the client's `Elicitation`, `Sampling` and `Roots`, and a task store (`Durable`) if tasks shouldn't be kept in memory.
 *
 * Fails with `Mismatch` unless every run has the same outcome and starts each step at most one time more than the run without a crash.
 * Returns that run first, followed by one run per crash point. Uses a test clock, so sleeps take no real time.
 *
 * @example
 * ```ts
 * import { Elicitation, Once } from "@effect-mcp/core"
 * import { CrashPoints } from "@effect-mcp/testing"
 * import { Effect, References, Schema } from "effect"
 *
 * const book = Effect.gen(function* () {
 *   const seat = yield* Once.run("reserve", Schema.String, Effect.succeed("12A"))
 *   yield* Elicitation.confirm(`Book seat ${seat}?`)
 *   yield* Once.sleep("settle", "10 minutes")
 *   return seat
 * })
 *
 * const check = CrashPoints.forAll(book, Elicitation.layerAccept()).pipe(
 *   // Hides the audit log of the tasks.
 *   Effect.provideService(References.MinimumLogLevel, "Warn")
 * )
 * const runs = await Effect.runPromise(check)
 * for (const { point, steps } of runs) if (steps.length > 1) console.log(point?.when, point?.write, steps.join())
 * // => before 1 reserve,reserve
 * ```
 */
export const forAll = <A, E, W, LE = never, LR = never, X = never>(
  handler: Effect.Effect<A, E, RequestServices | NoInfer<W>>,
  world: Layer.Layer<W, LE, LR>,
  options: Options<A, E, W, X> = {}
): Effect.Effect<ReadonlyArray<CrashRun<A, E>>, CrashMismatch | LE | X | McpTest.TestConnectError, LR> =>
  Effect.gen(function* () {
    const played = yield* atEachPlace<
      Point | undefined,
      Played<A, E>,
      LE | X | McpTest.TestConnectError,
      LR,
      CrashMismatch
    >(
      undefined,
      (point) => play(handler, world, options, point),
      ({ writes }) => pointsOf(writes),
      (whole, { run }, all) => {
        const message = differs(whole.run, run)
        return message === undefined
          ? Effect.void
          : new CrashMismatch({
              message: `${message} (${run.point?.when} write ${run.point?.write})`,
              runs: all.map((played) => played.run),
              points: 2 * whole.writes
            })
      }
    )
    return played.map(({ run }) => run)
  })

/** Returns the crash points before and after each write. */
const pointsOf = (writes: number): ReadonlyArray<Point> =>
  Array.from({ length: writes }, (_, index) =>
    (["before", "after"] as const).map((when) => ({ write: index + 1, when }))
  ).flat()

interface Played<A, E> {
  readonly run: CrashRun<A, E>
  /** Number of writes by the first node. */
  readonly writes: number
}

const countOf = (steps: ReadonlyArray<string>, name: string): number => steps.filter((step) => step === name).length

const differs = (
  whole: CrashRun<unknown, unknown>,
  { exit, steps }: CrashRun<unknown, unknown>
): string | undefined => {
  if (!sameExit(whole.exit, exit)) return `${describe(whole.exit)} where no node dies, but ${describe(exit)}`
  const again = steps.find((name) => countOf(steps, name) > countOf(whole.steps, name) + 1)
  return again === undefined ? undefined : `The step ${JSON.stringify(again)} began ${countOf(steps, again)} times`
}

const play = <A, E, W, LE, LR, X>(
  handler: Effect.Effect<A, E, RequestServices | W>,
  world: Layer.Layer<W, LE, LR>,
  { after, within = "1 day" }: Options<A, E, W, X>,
  point: Point | undefined
): Effect.Effect<Played<A, E>, LE | X | McpTest.TestConnectError, LR> => {
  const whole = Effect.gen(function* () {
    const { journal, store } = yield* storage
    const [first, second] = [new Node(journal, point), new Node(journal, undefined)]
    let exit: Exit.Exit<A, E> = Exit.die(
      new Error(`The task did not end within ${Duration.format(Duration.fromInputUnsafe(within))}`)
    )
    const connected = (node: Node) => {
      const watched = Effect.onExit(node.watched(handler), (ended) =>
        Effect.sync(() => {
          const isOver = !node.isDead && (Exit.isSuccess(ended) || !isSuspension(ended.cause))
          if (isOver) exit = ended
        })
      )
      const services = Context.make(TaskStore, store).pipe(Context.add(Journal, node.journal))
      const tasks = Layer.provide(Tasks.layerStore(), Layer.succeedContext(services))
      const { features, tool } = handlerTool(watched)
      return Effect.map(McpTest.connect(Layer.merge(features, tasks), "2026-07-28"), (client) => ({ client, tool }))
    }
    const { client, tool } = yield* connected(first)
    yield* Effect.addFinalizer(() => first.end)
    const { id } = yield* Effect.orDie(client.startByName(tool.name, {}, { follow: false }))
    const other = yield* connected(second)
    const handle = yield* Effect.orDie(other.client.task(other.tool, id ?? ""))
    yield* passing(yield* Effect.forkScoped(Effect.exit(handle.result), { startImmediately: true }), within)
    const run: CrashRun<A, E> = { point, exit, steps: [...first.steps, ...second.steps] }
    yield* after?.(run) ?? Effect.void
    return { run, writes: first.writes }
  })
  return inWorld(() => whole, Layer.provideMerge(world, TestClock.layer()))
}

/** Uses the store in the world, or one in memory. As in a database, every connection that knows the id of a task can access it. */
const storage = Effect.gen(function* () {
  const context = yield* Effect.context<never>()
  const memory = yield* Layer.build(Layer.fresh(Memory.layer()))
  const store = Option.getOrElse(Context.getOption(context, TaskStore), () => Context.get(memory, TaskStore))
  const journal = Option.getOrElse(Context.getOption(context, Journal), () => Context.get(memory, Journal))
  return { journal, store: { ...store, outlives: true } }
})

/** Advances time until the fiber ends: second by second at first, then in growing steps. */
const passing = (fiber: Fiber.Fiber<unknown>, within: Duration.Input): Effect.Effect<void> =>
  Effect.gen(function* () {
    const end = Duration.toMillis(Duration.fromInputUnsafe(within))
    let passed = 0
    while (passed < end && fiber.pollUnsafe() === undefined) {
      const step = Math.max(1000, passed / 60)
      yield* TestClock.adjust(step)
      passed += step
    }
  })
