/**
 * Whether a task ends the same wherever its node dies.
 *
 * Runs a handler as a task, on a clock of its own, once for each point: before and after each write to its journal. Another node on the same
 * store continues it. Compares how the handler ended, and how often each step began.
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

/** One run of a handler. */
export interface CrashRun<A, E> {
  /** Where the first node died; undefined: it lived. */
  readonly point: Point | undefined
  readonly exit: Exit.Exit<A, E>
  /** The names of the steps that began, in order, on both nodes. */
  readonly steps: ReadonlyArray<string>
}

/** The task ended differently at a point, or a step began more often than a death explains. */
export class CrashMismatch extends Data.TaggedError("CrashMismatch")<{
  readonly message: string
  /** Up to the one that differs. */
  readonly runs: ReadonlyArray<CrashRun<unknown, unknown>>
  /** How many points there are: before and after each write. */
  readonly points: number
}> {}

/** Options of a check. */
export interface Options<A, E, W, X> {
  /** Runs after each run, in its world: for what must hold of the world, such as one order in its shop. */
  readonly after?: ((run: CrashRun<A, E>) => Effect.Effect<unknown, X, NoInfer<W>>) | undefined
  /** How long a task may take by its own clock. Default: 1 day. */
  readonly within?: Duration.Input | undefined
}

/**
 * Runs `handler` as a task whose node dies before and after each of its writes to the journal: a step, a question, a sleep, a message, a
 * lease that is given up, the end. Each run has a fresh `world`: the services that the handler needs, the client's `Elicitation`, `Sampling`
 * and `Roots`, and the store of tasks (`Durable`), where it is not the memory. The world outlives the node that dies.
 *
 * Fails with `Mismatch` unless all runs end the same, and no step begins more than once more than in the run without a death. Gives that run
 * first, then one for each point. The clock is that of a test, so sleeps take no time.
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
 *   // Without the audit log of the tasks.
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

/** Before and after each write. */
const pointsOf = (writes: number): ReadonlyArray<Point> =>
  Array.from({ length: writes }, (_, index) =>
    (["before", "after"] as const).map((when) => ({ write: index + 1, when }))
  ).flat()

interface Played<A, E> {
  readonly run: CrashRun<A, E>
  /** Writes of the first node. */
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

/** The store of the world, else one in memory: as in a database, a task belongs to every connection that knows its id. */
const storage = Effect.gen(function* () {
  const context = yield* Effect.context<never>()
  const memory = yield* Layer.build(Layer.fresh(Memory.layer()))
  const store = Option.getOrElse(Context.getOption(context, TaskStore), () => Context.get(memory, TaskStore))
  const journal = Option.getOrElse(Context.getOption(context, Journal), () => Context.get(memory, Journal))
  return { journal, store: { ...store, outlives: true } }
})

/** Lets time pass until the fiber has ended: second by second at first, then in steps that grow. */
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
