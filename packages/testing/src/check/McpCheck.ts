/**
 * Checks that a handler behaves the same in every era: with questions asked over an open connection, with a new run after each answer, and
 * as a task.
 *
 * Runs the handler with an in-memory server and client: in a session (remote), in the stateless revision (replay), and in the stateless
 * revision with each round that asks a question played twice (strict). If you provide a task layer, the handler also runs as a task of both
 * generations, and as a task that starts only when the handler says so. If that layer has handles, clients without tasks also follow it
 * by its tools, with and without a session. The check compares the outcome, the questions asked and the `Once` steps that ran.
 */
import type { ClientInput } from "@effect-mcp/core/ClientInput"
import * as Memory from "@effect-mcp/core/Memory"
import type { RequestServices } from "@effect-mcp/core/RequestContext"
import type * as Tool from "@effect-mcp/core/Tool"
import type * as Tools from "@effect-mcp/core/Tools"
import type { Inbound, Transport } from "@effect-mcp/core/Transport"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type * as McpError from "@effect-mcp/protocol/McpError"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import type { Version } from "@effect-mcp/protocol/Revision"
import * as Features from "@effect-mcp/server/internal/Features"
import { isSuspension } from "@effect-mcp/server/internal/Replay"
import type * as McpServer from "@effect-mcp/server/McpServer"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Equal from "effect/Equal"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { describe, sameExit } from "../engine/Exits.ts"
import { handlerTool } from "../engine/handlers.ts"
import { atEachPlace } from "../engine/places.ts"
import { inWorld } from "../engine/Run.ts"
import { type Around, watchSteps } from "../engine/steps.ts"
import * as McpTest from "../McpTest.ts"
import { quiesce } from "../Quiesce.ts"
import { followHandle } from "./followHandle.ts"

/**
 * Ways to run a handler. `begun` is a task that starts at `Tasks.begin`, or an ordinary call if the handler never calls it. With `handles`,
 * a client without tasks calls the tools that follow a task.
 */
export type Interpreter =
  | "remote"
  | "replay"
  | "strict"
  | "task 2025-11-25"
  | "task 2026-07-28"
  | "begun"
  | "handles 2025-11-25"
  | "handles 2026-07-28"

/** A single run of a handler. */
export interface CheckRun<A, E> {
  readonly interpreter: Interpreter
  /** The handler's exit. A cancelled handler exits with an interruption. */
  readonly exit: Exit.Exit<A, E>
  /** Names of the `Once` steps that ran, in order. */
  readonly steps: ReadonlyArray<string>
  /** Number of times the handler ran. */
  readonly rounds: number
  /** The difference found when a round was played a second time (strict), or `undefined` if there was none. */
  readonly difference: string | undefined
}

/** The handler behaved differently under some interpreter, or ran a step twice. */
export class Mismatch extends Data.TaggedError("Mismatch")<{
  readonly message: string
  readonly runs: ReadonlyArray<CheckRun<unknown, unknown>>
}> {}

/** Options for a check. */
export interface Options<W = never> {
  /** Server options, such as limits. */
  readonly server?: McpTest.Options["server"]
  /**
   * Turns calls into tasks, for example `Tasks.layer({ handles: { answerWithin: 0 } })` from the tasks package. Without it, the handler never
   * runs as a task.
   */
  readonly tasks?: Layer.Layer<never, never, McpServer.Registries> | undefined
  /** Cancels the call when this effect completes. It could be a latch that the world's `Elicitation` opens. Default: never. */
  readonly cancel?: Effect.Effect<unknown, never, W> | undefined
}

/** A handler's events while it was running. */
interface Observed<A, E> {
  exit: Exit.Exit<A, E>
  readonly steps: Array<string>
  rounds: number
  /** Number of runs that have not ended yet. */
  running: number
  difference: string | undefined
}

/** How long a handler may take to end after its call was cancelled, in milliseconds of wall-clock time. */
const patience = 5000

/**
 * Runs `handler` under every interpreter, each time in a fresh `world` that provides the services it needs along with the client's
 * `Elicitation`, `Sampling` and `Roots`. Fails with `Mismatch` unless every run has the same outcome and runs the same steps, each at most
 * once.
 *
 * When `cancel` completes, the caller interrupts the call. The handler must then exit within 5 seconds under each interpreter.
 *
 * @example
 * ```ts
 * import { Elicitation, Once } from "@effect-mcp/core"
 * import { McpCheck } from "@effect-mcp/testing"
 * import { Effect, Schema } from "effect"
 *
 * const book = Effect.gen(function* () {
 *   const seat = yield* Once.run("reserve", Schema.String, Effect.succeed("12A"))
 *   yield* Elicitation.confirm(`Book seat ${seat}?`)
 *   return seat
 * })
 *
 * const runs = await Effect.runPromise(McpCheck.interpreters(book, Elicitation.layerAccept()))
 * for (const { interpreter, rounds } of runs) console.log(interpreter, rounds)
 * // => remote 1
 * // => replay 2
 * // => strict 3
 * ```
 *
 * To also run it as a task of both generations, and as a task that starts at `begin` because the server may decide:
 *
 * @example
 * ```ts
 * import { Elicitation } from "@effect-mcp/core"
 * import { Tasks } from "@effect-mcp/tasks"
 * import { McpCheck } from "@effect-mcp/testing"
 * import { Effect, References } from "effect"
 *
 * const publish = Effect.gen(function* () {
 *   yield* Elicitation.confirm("Publish the site?")
 *   yield* Tasks.begin
 *   return "published"
 * })
 *
 * // Tasks log their audit trail at level Info.
 * const runs = await McpCheck.interpreters(publish, Elicitation.layerAccept(), { tasks: Tasks.layer() }).pipe(
 *   Effect.provideService(References.MinimumLogLevel, "Warn"),
 *   Effect.runPromise
 * )
 * console.log(runs.map(({ interpreter, rounds }) => `${interpreter}: ${rounds}`).join(", "))
 * // => remote: 1, replay: 2, strict: 3, task 2025-11-25: 1, task 2026-07-28: 1, begun: 3
 * ```
 */
export const interpreters = <A, E, W, LE = never, LR = never>(
  handler: Effect.Effect<A, E, RequestServices | NoInfer<W>>,
  world: Layer.Layer<W, LE, LR>,
  options: Options<NoInfer<W>> = {}
): Effect.Effect<ReadonlyArray<CheckRun<A, E>>, Mismatch | LE | McpTest.TestConnectError, LR> =>
  Effect.gen(function* () {
    const hasHandles = yield* offersHandles(options)
    const runs = yield* atEachPlace<Interpreter, CheckRun<A, E>, LE | McpTest.TestConnectError, LR>(
      "remote",
      (interpreter) => interpret(interpreter, handler, world, options),
      () => [...rounds, ...(options.tasks === undefined ? [] : asTask), ...(hasHandles ? byHandles : [])]
    )
    for (const other of runs) {
      const message = other.difference ?? differs(runs[0] ?? other, other)
      if (message !== undefined) return yield* new Mismatch({ message: `${message} (${other.interpreter})`, runs })
    }
    return runs
  })

const rounds: ReadonlyArray<Interpreter> = ["replay", "strict"]
const asTask: ReadonlyArray<Interpreter> = ["task 2025-11-25", "task 2026-07-28", "begun"]
const byHandles: ReadonlyArray<Interpreter> = ["handles 2025-11-25", "handles 2026-07-28"]

const differs = (remote: CheckRun<unknown, unknown>, other: CheckRun<unknown, unknown>): string | undefined => {
  const twice = other.steps.find((name, i) => other.steps.indexOf(name) < i)
  if (twice !== undefined) return `The step ${JSON.stringify(twice)} ran twice`
  if (!sameExit(remote.exit, other.exit)) return `${describe(remote.exit)} over the wire, but ${describe(other.exit)}`
  return Equal.equals(remote.steps.toSorted(), other.steps.toSorted())
    ? undefined
    : `Ran the steps [${remote.steps.join()}] over the wire, but [${other.steps.join()}]`
}

/** Creates a handler from a tool call: `McpCheck.interpreters(McpCheck.call(features, BookTable, input), world)`. */
export const call = <I, O, F, H, E, R>(
  features: Layer.Layer<never, E, R>,
  tool: Tool.Tool<I, O, F, H>,
  input: I
): Effect.Effect<
  Effect.Success<ReturnType<Tools.ToolEntry["call"]>>,
  E | McpError.McpError | Tool.InvalidValue,
  Exclude<R, McpServer.Registries | RequestServices> | RequestServices
> =>
  Effect.gen(function* () {
    const { tools } = yield* Features.build(features)
    const args = yield* tool.input.encode(input)
    return yield* tools.call({ name: tool.name, arguments: isJsonObject(args) ? args : {} })
  })

/** The interpreters' revisions. Default 2026-07-28. */
const revisions: { readonly [I in Interpreter]?: Version } = {
  remote: "2025-11-25",
  "task 2025-11-25": "2025-11-25",
  "handles 2025-11-25": "2025-11-25"
}

/** Wraps the handler as a tool's handler, and records its runs. */
const watched = <A, E, R>(
  handler: Effect.Effect<A, E, R>,
  observed: Observed<A, E>,
  known: Map<string, unknown> | undefined
): Effect.Effect<A, E, R | ClientInput> =>
  Effect.onExit(
    Effect.suspend(() => {
      observed.rounds++
      observed.running++
      return Effect.andThen(watchSteps(noting(observed.steps, known)), handler)
    }),
    (exit) =>
      Effect.sync(() => {
        observed.running--
        if (Exit.isSuccess(exit) || !isSuspension(exit.cause)) observed.exit = exit
      })
  )

/** Features for a server whose only tool is the handler. If the handler must run as a task, it cannot run inline by mistake. */
const featuresOf = <R>(
  interpreter: Interpreter,
  handler: Effect.Effect<unknown, unknown, R>,
  tasks: Options["tasks"] = Layer.empty
) => {
  if (!asTask.includes(interpreter) && !byHandles.includes(interpreter)) return handlerTool(handler, "never")
  const { features, tool } = handlerTool(handler, interpreter === "begun" ? "begun" : "required")
  return { tool, features: Layer.merge(features, Layer.fresh(tasks)) }
}

const withoutTasks = (revision: Version) => ({ client: { tasks: false, revisions: [revision] } })

/** True if the task layer offers a tool that only runs as a task to clients without tasks. */
const offersHandles = ({
  server,
  tasks
}: Pick<Options, "server" | "tasks">): Effect.Effect<boolean, McpTest.TestConnectError> => {
  if (tasks === undefined) return Effect.succeed(false)
  const { features, tool } = featuresOf("handles 2026-07-28", Effect.void, tasks)
  return Effect.scoped(
    Effect.gen(function* () {
      const client = yield* McpTest.connect(features, "2026-07-28", { server, ...withoutTasks("2026-07-28") })
      const tools = yield* Effect.orDie(Stream.runCollect(client.listTools))
      return tools.some(({ name }) => name === tool.name)
    })
  )
}

/** Returns what is wrong after a call has ended: a handler still running, or a missing answer. */
const afterwards = (observed: Observed<unknown, unknown>, called: Exit.Exit<unknown, unknown>, cancelled: boolean) =>
  Effect.map(
    Effect.promise(() => until(() => observed.running === 0, patience)),
    (ended) => {
      if (!ended) return `The handler runs ${patience} ms after the end of its call`
      return Exit.isSuccess(observed.exit) && Exit.isFailure(called) && !cancelled
        ? `Succeeded, but its call failed with ${Cause.pretty(called.cause)}`
        : undefined
    }
  )

/** Interval at which a client polls its tasks, by the wall clock because a test clock may stand still. */
const wallClock = Clock.Clock.defaultValue()

const until = async (holds: () => boolean, millis: number): Promise<boolean> => {
  for (const end = performance.now() + millis; !holds();) {
    if (performance.now() > end) return false
    await new Promise((resolve) => setImmediate(resolve))
  }
  return true
}

const interpret = <A, E, W, LE, LR>(
  interpreter: Interpreter,
  handler: Effect.Effect<A, E, RequestServices | W>,
  world: Layer.Layer<W, LE, LR>,
  { cancel = Effect.never, server, tasks }: Options<W>
): Effect.Effect<CheckRun<A, E>, LE | McpTest.TestConnectError, LR> => {
  const observed: Observed<A, E> = {
    exit: Exit.die(new Error("The handler never ran")),
    steps: [],
    rounds: 0,
    running: 0,
    difference: undefined
  }
  const strict = interpreter === "strict"
  const wire = strict ? twice((message) => (observed.difference ??= message)) : Memory.pair()
  // Compares the handler's own exit, not the result that the client receives.
  const { features, tool } = featuresOf(interpreter, watched(handler, observed, strict ? new Map() : undefined), tasks)
  const usesHandles = byHandles.includes(interpreter)
  const revision = revisions[interpreter] ?? "2026-07-28"
  const run = Effect.gen(function* () {
    const connecting = usesHandles ? withoutTasks(revision) : undefined
    const client = yield* McpTest.connect(features, revision, { wire, server, ...connecting })
    const calling = usesHandles ? followHandle(client, tool.name) : client.callTool(tool, {})
    const isTask = asTask.includes(interpreter)
    const call = yield* Effect.forkChild(isTask ? Effect.provideService(calling, Clock.Clock, wallClock) : calling)
    // Waits until the client knows its task, because a task whose creation has not been answered cannot be cancelled yet.
    const cancelled = Effect.as(Effect.andThen(cancel, quiesce), undefined)
    const called = yield* Effect.raceFirst(Fiber.await(call), cancelled)
    if (called === undefined) {
      // A handler that waits for the answer to a round has not ended by itself.
      observed.exit = Exit.interrupt()
      yield* Fiber.interrupt(call)
    }
    const ended = yield* Fiber.await(call)
    const difference = yield* afterwards(observed, ended, called === undefined)
    const { exit, rounds, steps } = observed
    return { interpreter, exit, steps, rounds, difference: observed.difference ?? difference }
  })
  return inWorld(() => run, world)
}

/** Records the steps that run. The values in `known` were recorded when this round was first played. */
const noting =
  (ran: Array<string>, known: Map<string, unknown> | undefined): Around =>
  <A, E, R>(name: string, step: Effect.Effect<A, E, R>) => {
    const noted = Effect.tap(step, (value) =>
      Effect.sync(() => {
        ran.push(name)
        known?.set(name, value)
      })
    )
    // Each name belongs to one step, so the known value has that step's type.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the boundary named above
    return Effect.suspend(() => (known?.has(name) === true ? Effect.succeed(known.get(name) as A) : noted))
  }

/** Plays every call that is answered with questions twice. The second try is sent once the first is answered, and its answer counts. */
const twice = (
  differ: (message: string) => void
): Effect.Effect<readonly [client: Transport, server: Transport], never, Scope.Scope> =>
  Effect.map(Memory.pair(), ([near, far]) => {
    const tries = new Map<JsonRpc.Id, { readonly id: JsonRpc.Id; readonly again: () => void }>()
    const questions = new Map<JsonRpc.Id, string>()
    const firstOf = (id: JsonRpc.Id): string => `first ${id}`
    /** The try that a cancellation applies to. */
    const running = ({ params }: JsonRpc.Notification) => {
      const id = params?.requestId
      return JsonRpc.isId(id) && !questions.has(id) && tries.has(firstOf(id)) ? firstOf(id) : id
    }
    const send: Transport["sink"]["send"] = (message, lane, relatedTo) => {
      const again = () => near.sink.send(message, lane, relatedTo)
      if (JsonRpc.isBatch(message)) return again()
      if ("method" in message && message.method === "notifications/cancelled") {
        return near.sink.send(
          { ...message, params: { ...message.params, requestId: running(message) } },
          lane,
          relatedTo
        )
      }
      if (!JsonRpc.isRequest(message) || message.method !== "tools/call") return again()
      const first = firstOf(message.id)
      tries.set(first, { id: message.id, again })
      near.sink.send({ ...message, id: first }, lane, relatedTo)
    }
    /** Messages that the client receives, without answers to first tries. */
    const receive = (inbound: Inbound): ReadonlyArray<Inbound> => {
      if (inbound._tag !== "Message" || !JsonRpc.isResponse(inbound.message)) return [inbound]
      const { message } = inbound
      const asked = questionsOf(message)
      const first = tries.get(message.id ?? "")
      if (first === undefined) {
        const before = questions.get(message.id ?? "") ?? asked
        if (before !== asked) differ(`Asks ${before}, but run again: ${asked}`)
        return [inbound]
      }
      if (asked === none) return [{ ...inbound, message: { ...message, id: first.id } }]
      questions.set(first.id, asked)
      first.again()
      return []
    }
    const incoming = Stream.flatMap(near.incoming, (inbound) => Stream.fromIterable(receive(inbound)))
    return [{ ...near, incoming, sink: { ...near.sink, send } }, far] as const
  })

const none = "nothing"

const questionsOf = (response: JsonRpc.Response): string =>
  "result" in response && isJsonObject(response.result) && response.result.inputRequests !== undefined
    ? JSON.stringify(response.result.inputRequests)
    : none
