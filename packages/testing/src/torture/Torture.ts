/**
 * Whether a call leaves the world in order whatever goes wrong: it runs again and again, in memory, each time with one fault at another place.
 *
 * It is cancelled, and its connection ends, before each operation of the handler's fibers and wherever they wait. Each call of a dependency
 * fails, before and after its effect. Each question is declined, dismissed, answered by an error and never. Where the call runs as a task,
 * its node dies before and after each write (`CrashPoints`). Every run has a clock and a scheduler of its own, so all runs are the same
 * again, and no time passes.
 */
import type { Client } from "@effect-mcp/client/McpClient"
import type { RequestServices } from "@effect-mcp/core/RequestContext"
import type * as Tool from "@effect-mcp/core/Tool"
import * as Revision from "@effect-mcp/protocol/Revision"
import type { Registries } from "@effect-mcp/server/McpServer"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Inspectable from "effect/Inspectable"
import type * as Layer from "effect/Layer"
import * as McpCheck from "../check/McpCheck.ts"
import { atEachPlace } from "../engine/places.ts"
import type * as McpTest from "../McpTest.ts"
import { crashes, type Handler } from "./crashes.ts"
import type { Failing } from "./dependencies.ts"
import type { Ledger } from "./Ledger.ts"
import { type Fault, type TorturePlay, play, type RunPlaces, type TortureCall, type TortureRun } from "./play.ts"
import { answersTo } from "./questions.ts"
import { isComplete, rowsOf, table, type TortureRow } from "./table.ts"

export { failing, type Failing, type When } from "./dependencies.ts"
export { acquired, type LedgerEntry as Entry, happened, Ledger, released } from "./Ledger.ts"
export type { Fault, TortureRun as Run } from "./play.ts"
export type { AnswerFault as Answer } from "./questions.ts"
export type { HandlerPlace as Place } from "./Stepper.ts"
export { type TortureRow as Row, table } from "./table.ts"

/** What a torture that found nothing gives. */
export interface Passed {
  readonly rows: ReadonlyArray<TortureRow>
  readonly runs: ReadonlyArray<TortureRun>
  /** Whether a fault came at every place of the run without one: false where `maxPlaces` left some out, or a run took another way. */
  readonly complete: boolean
}

/** Runs that left the world in disorder. The message is the table, and below it each finding with its fault and place. */
export class Broken extends Data.TaggedError("Broken")<{
  readonly message: string
  readonly rows: ReadonlyArray<TortureRow>
  readonly runs: ReadonlyArray<TortureRun>
  /** As of `Passed`. */
  readonly complete: boolean
  /** The first run with a finding. */
  readonly first: TortureRun
}> {
  /** Without the runs, which are hundreds. */
  override [Inspectable.NodeInspectSymbol](): string {
    return this.stack ?? this.message
  }
}

/** Options of a torture. */
export interface Options<W, X> {
  /** The dependencies whose calls fail in turn. Default: none. */
  readonly fails?: ReadonlyArray<Failing<W>> | undefined
  /** What must hold of the world after each run; fails where it does not. */
  readonly afterEach?: ((run: TortureRun) => Effect.Effect<unknown, X, W | Ledger>) | undefined
  /** Default: all. */
  readonly revisions?: ReadonlyArray<Revision.Revision> | undefined
  /** How many fibers the handler may leave running on purpose. Default 0. */
  readonly background?: number | undefined
  /**
   * Operations at most, and waits at most, at which the call is cancelled and disconnected in each revision: evenly chosen where there are
   * more. A whole number; the table says how many are left out. Default `all`.
   */
  readonly maxPlaces?: number | "all" | undefined
  /** Options of the client, such as its timeout. */
  readonly client?: McpTest.Options["client"]
  /** Options of the server, such as limits. */
  readonly server?: McpTest.Options["server"]
}

/** What is tortured: `tool`, `task` or `request` makes it. */
export interface Subject<E, R> extends TortureCall<E, R> {
  /** The handler by itself, where it runs as a task. */
  readonly handler?: Handler<Exclude<R, Registries | RequestServices>> | undefined
}

/** A call of a tool. */
export const tool = <E, R, I, O, F, H>(
  features: Layer.Layer<never, E, R>,
  contract: Tool.Tool<I, O, F, H>,
  input: NoInfer<I>
): Subject<E, R> => ({ features, call: (client) => client.callTool(contract, input) })

/** A call of a tool that also runs as a task, whose node dies at each of its writes. */
export const task = <E, R, I, O, F, H>(
  features: Layer.Layer<never, E, R>,
  contract: Tool.Tool<I, O, F, H>,
  input: NoInfer<I>
): Subject<E, R> => ({ ...tool(features, contract, input), handler: McpCheck.call(features, contract, input) })

/** Any request of a client. */
export const request = <E, R>(
  features: Layer.Layer<never, E, R>,
  call: (client: Client) => Effect.Effect<unknown, unknown>
): Subject<E, R> => ({ features, call })

/** The places of a kind, evenly chosen where there are more than `most`. */
const placesOf = (kind: "operation" | "wait", count: number, most: number) => {
  const tried = Math.min(count, most)
  return Array.from({ length: tried }, (_, index) => ({ kind, number: Math.floor((index * count) / tried) + 1 }))
}

/** What `maxPlaces` allows. Dies where it is no count: no run would have a fault then, and the torture would find nothing. */
const mostOf = (maxPlaces: number | "all"): Effect.Effect<number> => {
  const most = maxPlaces === "all" ? Infinity : maxPlaces
  return most === Infinity || (Number.isInteger(most) && most >= 0)
    ? Effect.succeed(most)
    : Effect.die(new RangeError(`maxPlaces is ${maxPlaces}; give a whole number of places, or "all"`))
}

/** The faults of a call, by what it does without one. */
const faultsOf = ({ calls, operations, questions, waits }: RunPlaces, most: number): ReadonlyArray<Fault> => {
  const places = [...placesOf("operation", operations, most), ...placesOf("wait", waits, most)]
  return [
    ...places.map((place) => ({ _tag: "Cancelled" as const, place })),
    ...places.map((place) => ({ _tag: "Disconnected" as const, place })),
    ...calls.flatMap((_, index) =>
      (["before", "after"] as const).map((when) => ({ _tag: "Failed" as const, call: index + 1, when }))
    ),
    ...questions.flatMap((method, index) =>
      answersTo(method).map((answer) => ({ _tag: "Answered" as const, question: index + 1, answer }))
    )
  ]
}

/**
 * Tortures a call. Each run has a fresh `world`: the services that the features need, and the client's `Elicitation`, `Sampling` and `Roots`.
 * Its doubles may write the `Ledger`: what it says was acquired must be released, and what happened must not happen twice.
 *
 * After each run no fiber and no scope of the handler may be left, the server may keep no request, and the session must answer. Fails with
 * `Broken` where one of that does not hold, or where `afterEach` fails. Gives all runs: `complete` and the last line of their `table` say
 * whether every place was tried. Dies with a `RangeError` where `maxPlaces` is no count.
 */
export const run = <E, W, LE = never, LR = never, X = never>(
  subject: Subject<E, NoInfer<W> | Ledger | Registries | RequestServices>,
  world: Layer.Layer<W, LE, LR>,
  options: Options<NoInfer<W>, X> = {}
): Effect.Effect<Passed, Broken | E | LE | McpTest.TestConnectError, Exclude<LR, Ledger>> =>
  Effect.gen(function* () {
    const {
      afterEach,
      background = 0,
      client,
      fails = [],
      maxPlaces = "all",
      revisions = Revision.all,
      server
    } = options
    const playing = { afterEach, background, client, fails, server }
    const runs: Array<TortureRun> = []
    const most = yield* mostOf(maxPlaces)
    for (const { version } of revisions) {
      const played = yield* atEachPlace<Fault, TorturePlay, E | LE | McpTest.TestConnectError, Exclude<LR, Ledger>>(
        { _tag: "None" },
        (fault) => play(version, subject, world, playing, fault),
        ({ places }) => faultsOf(places, most)
      )
      runs.push(...played.map(({ run }) => run))
    }
    if (subject.handler !== undefined) runs.push(...(yield* crashes(subject.handler, world, afterEach)))
    const first = runs.find(({ found }) => found.length > 0)
    const rows = rowsOf(runs)
    const complete = rows.every(isComplete)
    return first === undefined
      ? { rows, runs, complete }
      : yield* new Broken({ message: table(runs), rows, runs, complete, first })
  })
