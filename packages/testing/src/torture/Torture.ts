/**
 * Checks that a call cleans up after itself no matter what goes wrong. It runs the call in memory over and over, injecting one fault at a
 * different place each time.
 *
 * The call is cancelled or disconnected at each wait and before each operation of the handler's fibers. Each dependency call fails, either
 * before or after its effect. Each question is declined, dismissed, answered with an error, or never answered. If the call can run as a
 * task, its node also crashes before or after each write (`CrashPoints`). Every run has its own clock and scheduler, so runs are repeatable
 * and take no real time.
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

/** Result of a torture run that found nothing. */
export interface Passed {
  readonly rows: ReadonlyArray<TortureRow>
  readonly runs: ReadonlyArray<TortureRun>
  /**
   * True if a fault was injected at every place found in the faultless run. False if `maxPlaces` skipped some places, or if a run took a
   * different path.
   */
  readonly complete: boolean
}

/** Some runs left the world in disorder. The message contains a table, followed by each finding with its fault and place. */
export class Broken extends Data.TaggedError("Broken")<{
  readonly message: string
  readonly rows: ReadonlyArray<TortureRow>
  readonly runs: ReadonlyArray<TortureRun>
  /** Same as in `Passed`. */
  readonly complete: boolean
  /** The first run that had a finding. */
  readonly first: TortureRun
}> {
  /** Leaves out the runs, because there are hundreds. */
  override [Inspectable.NodeInspectSymbol](): string {
    return this.stack ?? this.message
  }
}

/** Options for a torture run. */
export interface Options<W, X> {
  /** Dependencies whose calls should fail, one after the other. Default: none. */
  readonly fails?: ReadonlyArray<Failing<W>> | undefined
  /** Invariant of the world, checked after each run. Fail the effect if the invariant is violated. */
  readonly afterEach?: ((run: TortureRun) => Effect.Effect<unknown, X, W | Ledger>) | undefined
  /** Revisions to test. Default: all. */
  readonly revisions?: ReadonlyArray<Revision.Revision> | undefined
  /** Number of fibers the handler may leave running on purpose. Default 0. */
  readonly background?: number | undefined
  /**
   * Maximum number of operations, and of waits, at which to cancel and disconnect the call in each revision. If there are more, an evenly
   * spaced selection is tried and the table says how many were skipped. Must be a whole number. Default `all`.
   */
  readonly maxPlaces?: number | "all" | undefined
  /** Client options, such as a timeout. */
  readonly client?: McpTest.Options["client"]
  /** Server options, such as limits. */
  readonly server?: McpTest.Options["server"]
}

/** A call to torture, created with `tool`, `task` or `request`. */
export interface Subject<E, R> extends TortureCall<E, R> {
  /** The bare handler, if the call also runs as a task. */
  readonly handler?: Handler<Exclude<R, Registries | RequestServices>> | undefined
}

/** Creates a subject from a tool call. */
export const tool = <E, R, I, O, F, H>(
  features: Layer.Layer<never, E, R>,
  contract: Tool.Tool<I, O, F, H>,
  input: NoInfer<I>
): Subject<E, R> => ({ features, call: (client) => client.callTool(contract, input) })

/** Creates a subject from a tool call that also runs as a task, whose node crashes at each write. */
export const task = <E, R, I, O, F, H>(
  features: Layer.Layer<never, E, R>,
  contract: Tool.Tool<I, O, F, H>,
  input: NoInfer<I>
): Subject<E, R> => ({ ...tool(features, contract, input), handler: McpCheck.call(features, contract, input) })

/** Creates a subject from any client request. */
export const request = <E, R>(
  features: Layer.Layer<never, E, R>,
  call: (client: Client) => Effect.Effect<unknown, unknown>
): Subject<E, R> => ({ features, call })

/** Returns the places of a kind, chosen evenly if there are more than `most`. */
const placesOf = (kind: "operation" | "wait", count: number, most: number) => {
  const tried = Math.min(count, most)
  return Array.from({ length: tried }, (_, index) => ({ kind, number: Math.floor((index * count) / tried) + 1 }))
}

/** Validates `maxPlaces`. Dies if it is not a count, because then no run would have a fault and nothing would be found. */
const mostOf = (maxPlaces: number | "all"): Effect.Effect<number> => {
  const most = maxPlaces === "all" ? Infinity : maxPlaces
  return most === Infinity || (Number.isInteger(most) && most >= 0)
    ? Effect.succeed(most)
    : Effect.die(new RangeError(`maxPlaces is ${maxPlaces}; expected a whole number or "all"`))
}

/** Lists the faults of a call, given its run without a fault. */
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
 * Tortures a call. Each run has a fresh `world`, which provides the services the features need and the client's `Elicitation`, `Sampling`
 * and `Roots`. Its doubles may record entries in the `Ledger`: acquired resources must be released, and recorded events must not happen
 * twice.
 *
 * After each run, no fiber or scope of the handler may be left, the server must not hold on to any request, and the session must still
 * respond. Fails with `Broken` if any of this is violated or if `afterEach` fails. Returns all runs. `complete` and the last line of their
 * `table` say whether every place was tried. Dies with a `RangeError` if `maxPlaces` is not a whole number.
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
