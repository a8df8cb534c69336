/**
 * Whether a handler does the same in every era: with questions over the open connection, run again for every answer, and as a task.
 *
 * Runs it with a server and a client in memory: in a session (remote), in the stateless revision (replay), and there with each round that
 * asks played twice (strict). With a layer of tasks also as a task of both generations, and as one that begins where the handler says so.
 * Compares how the handler ended, what it asked, and which `Once` steps ran.
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

/** How a handler runs; `begun` is a task that begins at `Tasks.begin`, and no task where the handler does not say so. */
export type Interpreter = "remote" | "replay" | "strict" | "task 2025-11-25" | "task 2026-07-28" | "begun"

/** One run of a handler. */
export interface CheckRun<A, E> {
  readonly interpreter: Interpreter
  /** Of a handler that a cancel has ended: an interruption. */
  readonly exit: Exit.Exit<A, E>
  /** The names of the `Once` steps that ran, in order. */
  readonly steps: ReadonlyArray<string>
  /** How often the handler ran. */
  readonly rounds: number
  /** How a round differed when it was played again (strict); undefined where it did not. */
  readonly difference: string | undefined
}

/** The handler differed between interpreters, or ran a step twice. */
export class Mismatch extends Data.TaggedError("Mismatch")<{
  readonly message: string
  readonly runs: ReadonlyArray<CheckRun<unknown, unknown>>
}> {}

/** Options of a check. */
export interface Options<W = never> {
  /** Options of the servers, such as limits. */
  readonly server?: McpTest.Options["server"]
  /** Makes tasks of calls, such as `Tasks.layer()` of the package tasks. Without it the handler does not run as a task. */
  readonly tasks?: Layer.Layer<never, never, McpServer.Registries> | undefined
  /** The caller cancels the call when this completes, such as a latch of the world that its `Elicitation` opens. Default: never. */
  readonly cancel?: Effect.Effect<unknown, never, W> | undefined
}

/** What happened to a handler while it ran. */
interface Observed<A, E> {
  exit: Exit.Exit<A, E>
  readonly steps: Array<string>
  rounds: number
  /** Runs that have not ended. */
  running: number
  difference: string | undefined
}

/** How long the handler may take to end after its call was cancelled, in milliseconds of the wall clock. */
const patience = 5000

/**
 * Runs `handler` under every interpreter, each time in a fresh `world`: the services that it needs, and the client's `Elicitation`,
 * `Sampling` and `Roots`. Fails with `Mismatch` unless all runs end the same and run the same steps, none of them twice.
 *
 * Where `cancel` completes the caller interrupts its call, which must end the handler within 5 seconds under each interpreter.
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
 * The same as a task of both generations, which `begin` makes of it where the server may decide:
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
 * // Tasks log their audit trail at the level Info.
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
    const runs = yield* atEachPlace<Interpreter, CheckRun<A, E>, LE | McpTest.TestConnectError, LR>(
      "remote",
      (interpreter) => interpret(interpreter, handler, world, options),
      () => [...rounds, ...(options.tasks === undefined ? [] : asTask)]
    )
    for (const other of runs) {
      const message = other.difference ?? differs(runs[0] ?? other, other)
      if (message !== undefined) return yield* new Mismatch({ message: `${message} (${other.interpreter})`, runs })
    }
    return runs
  })

const rounds: ReadonlyArray<Interpreter> = ["replay", "strict"]
const asTask: ReadonlyArray<Interpreter> = ["task 2025-11-25", "task 2026-07-28", "begun"]

const differs = (remote: CheckRun<unknown, unknown>, other: CheckRun<unknown, unknown>): string | undefined => {
  const twice = other.steps.find((name, i) => other.steps.indexOf(name) < i)
  if (twice !== undefined) return `The step ${JSON.stringify(twice)} ran twice`
  if (!sameExit(remote.exit, other.exit)) return `${describe(remote.exit)} over the wire, but ${describe(other.exit)}`
  return Equal.equals(remote.steps.toSorted(), other.steps.toSorted())
    ? undefined
    : `Ran the steps [${remote.steps.join()}] over the wire, but [${other.steps.join()}]`
}

/** A call of a tool, as a handler to check: `McpCheck.interpreters(McpCheck.call(features, BookTable, input), world)`. */
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

/** The handler as that of a tool, watched. */
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

/** The features of a server whose one tool is the handler. A tool that must be a task does not run inline by mistake. */
const featuresOf = <R>(
  interpreter: Interpreter,
  handler: Effect.Effect<unknown, unknown, R>,
  tasks: Options["tasks"] = Layer.empty
) => {
  if (!asTask.includes(interpreter)) return handlerTool(handler, "never")
  const { features, tool } = handlerTool(handler, interpreter === "begun" ? "begun" : "required")
  return { tool, features: Layer.merge(features, Layer.fresh(tasks)) }
}

/** Says what does not hold of a call that has ended: its handler has ended, too, and its answer has come. */
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

/** A client reads its tasks from time to time, also where the clock of a test does not advance. */
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
  // The handler's own exit is compared, not the result that the client gets.
  const { features, tool } = featuresOf(interpreter, watched(handler, observed, strict ? new Map() : undefined), tasks)
  const revision = interpreter === "remote" || interpreter === "task 2025-11-25" ? "2025-11-25" : "2026-07-28"
  const run = Effect.gen(function* () {
    const client = yield* McpTest.connect(features, revision, { wire, server })
    const calling = client.callTool(tool, {})
    const isTask = asTask.includes(interpreter)
    const call = yield* Effect.forkChild(isTask ? Effect.provideService(calling, Clock.Clock, wallClock) : calling)
    // Not before the client knows its task: a task whose answer has not arrived yet is not cancelled.
    const cancelled = Effect.as(Effect.andThen(cancel, quiesce), undefined)
    const called = yield* Effect.raceFirst(Fiber.await(call), cancelled)
    if (called === undefined) {
      // A handler that waits for the answer of a round has not ended by itself.
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

/** Notes the steps that run. The values in `known` were recorded when this round was played for the first time. */
const noting =
  (ran: Array<string>, known: Map<string, unknown> | undefined): Around =>
  <A, E, R>(name: string, step: Effect.Effect<A, E, R>) => {
    const noted = Effect.tap(step, (value) =>
      Effect.sync(() => {
        ran.push(name)
        known?.set(name, value)
      })
    )
    // A name is one step, so what is known under it has its type.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the boundary named above
    return Effect.suspend(() => (known?.has(name) === true ? Effect.succeed(known.get(name) as A) : noted))
  }

/** Plays every call twice that is answered with questions: the second try leaves once the first is answered, and its answer counts. */
const twice = (
  differ: (message: string) => void
): Effect.Effect<readonly [client: Transport, server: Transport], never, Scope.Scope> =>
  Effect.map(Memory.pair(), ([near, far]) => {
    const tries = new Map<JsonRpc.Id, { readonly id: JsonRpc.Id; readonly again: () => void }>()
    const questions = new Map<JsonRpc.Id, string>()
    const firstOf = (id: JsonRpc.Id): string => `first ${id}`
    /** The try that a cancel is for. */
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
    /** What the client receives: not the answers of first tries. */
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
