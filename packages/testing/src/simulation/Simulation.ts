/**
 * A whole application in one process, where one seed decides all that chance decides elsewhere: which fiber is next, when a handler pauses, how
 * late messages are, where connections break, and what Effect's `Random` gives. Time is that of a clock of its own.
 *
 * The same seed gives the same run. A run that fails is repeated with fewer and fewer decisions, until each that is left is needed.
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Inspectable from "effect/Inspectable"
import { shorter, shrinkBy } from "../Shrinker.ts"
import type * as McpTest from "../McpTest.ts"
import type { Decision } from "./Decisions.ts"
import type { SimulatedFaults } from "./Faults.ts"
import { type App, perform } from "./perform.ts"
import { type RunFailure, Stage } from "./Stage.ts"

export type { Decision } from "./Decisions.ts"
export type { SimulatedFaults as Faults } from "./Faults.ts"
export type { App, Ends } from "./perform.ts"
export type { RunFailure as Failure } from "./Stage.ts"

/** What one run came to. */
export interface SimulationOutcome {
  readonly seed: number | string
  /** What chance decided, in order. */
  readonly decisions: ReadonlyArray<Decision>
  /** What happened, in order: messages as they arrive, cuts, ends. Random ids are numbered. */
  readonly trace: ReadonlyArray<string>
  /** What is wrong; undefined where nothing is. */
  readonly failure: RunFailure | undefined
}

/** A seed that fails, and the least that chance has to decide for it. */
export class Counterexample extends Data.TaggedError("Counterexample")<{
  readonly message: string
  readonly outcome: SimulationOutcome
  /** The seed that failed first, and how many decisions it had. */
  readonly found: { readonly seed: number | string; readonly decisions: number }
}> {
  override [Inspectable.NodeInspectSymbol](): string {
    return this.message
  }
}

/** Options of one run. */
export interface RunOptions {
  /** Default 1. */
  readonly seed?: number | string | undefined
  readonly faults?: SimulatedFaults | undefined
  /** Only these decisions are taken, all else takes the ordinary course. Default: those of the seed. */
  readonly decisions?: ReadonlyArray<Pick<Decision, "name" | "value">> | undefined
}

/**
 * Runs an application once. The outcome has a failure where a check fails, a program dies, the run has no end, or a fiber of a
 * handler is left; also where a program fails though its connection was not cut.
 *
 * @example
 * ```ts
 * import { Tool, Tools } from "@effect-mcp/core"
 * import { Simulation } from "@effect-mcp/testing"
 * import { Effect, Layer } from "effect"
 *
 * const Ping = Tool.make("ping", { description: "Answers" })
 * const app = {
 *   features: Tools.layer(Ping, () => Effect.succeed("pong")),
 *   world: Layer.empty,
 *   clients: {
 *     alice: (client) => client.callTool(Ping, {}),
 *     bob: (client) => Effect.replicateEffect(client.callTool(Ping, {}), 3)
 *   }
 * } satisfies Simulation.App<never>
 *
 * const test = Effect.gen(function* () {
 *   const first = yield* Simulation.run(app, { seed: 7 })
 *   const again = yield* Simulation.run(app, { seed: 7 })
 *   console.log(first.failure, first.trace.join() === again.trace.join()) // => undefined true
 * })
 *
 * await Effect.runPromise(test)
 * ```
 */
export const run = <W, E, LE, LR>(
  app: App<W, E, LE, LR>,
  { decisions, faults = {}, seed = 1 }: RunOptions = {}
): Effect.Effect<SimulationOutcome, E | LE | McpTest.TestConnectError, LR> =>
  Effect.suspend(() => {
    const stage = new Stage(seed, faults, decisions)
    return Effect.map(perform(app, stage), () => ({
      seed,
      decisions: stage.decisions.taken,
      trace: stage.trace.lines,
      failure: stage.failure
    }))
  })

/** Options of a check. */
export interface CheckOptions {
  /** The first seed; the others follow. Default 1. */
  readonly seed?: number | undefined
  /** Seeds that are tried at most. Default 100. */
  readonly runs?: number | undefined
  readonly faults?: SimulatedFaults | undefined
  /** Runs that making a counterexample smaller may take. Default 500. */
  readonly shrinks?: number | undefined
}

/** Fewer decisions, and smaller ones. */
function* fewer({ decisions }: Pick<SimulationOutcome, "decisions">): Iterable<Pick<SimulationOutcome, "decisions">> {
  for (const some of shorter(decisions)) yield { decisions: some }
  // Several may hide the effect of each other, so that none of them can be left out alone.
  if (decisions.length > 1) for (const decision of decisions) yield { decisions: [decision] }
  for (const [index, decision] of decisions.entries()) {
    for (const value of new Set([1, Math.floor(decision.value / 2), Math.floor((decision.value * 3) / 4)])) {
      if (value >= 1 && value < decision.value) yield { decisions: decisions.with(index, { ...decision, value }) }
    }
  }
}

/** The least that chance has to decide for a run to fail in the same way. */
const shrink = <W, E, LE, LR>(app: App<W, E, LE, LR>, failed: SimulationOutcome, { faults, shrinks }: CheckOptions) =>
  Effect.gen(function* () {
    let best = failed
    const { decisions } = failed
    const { kind } = failed.failure ?? {}
    const shows = (candidate: Pick<SimulationOutcome, "decisions">) =>
      Effect.map(run(app, { seed: failed.seed, faults, decisions: candidate.decisions }), (outcome) => {
        const isSame = outcome.failure?.kind === kind
        if (isSame) best = outcome
        return isSame
      })
    yield* shrinkBy(fewer, { decisions }, shows, { budget: shrinks ?? 500 })
    return best
  })

/** Characters of a line of the trace. */
const shown = 160

/** A run that failed, for people. */
export const text = ({ decisions, failure, seed, trace }: SimulationOutcome): string =>
  [
    failure?.message ?? "Nothing is wrong",
    `Seed ${seed}${decisions.length === 0 ? ", without a decision of chance" : ", where"}`,
    ...decisions.map((decision) => `  ${decision.text}`),
    "What happened:",
    ...trace.map((line) => `  ${line.length > shown ? `${line.slice(0, shown)}…` : line}`)
  ].join("\n")

/**
 * Runs an application by many seeds, first once without any chance. Fails with the first that is wrong, as a `Counterexample` that is as small
 * as it gets. Gives the number of runs.
 */
export const check = <W, E, LE, LR>(
  app: App<W, E, LE, LR>,
  options: CheckOptions = {}
): Effect.Effect<number, Counterexample | E | LE | McpTest.TestConnectError, LR> =>
  Effect.gen(function* () {
    const { faults, runs = 100, seed = 1 } = options
    for (let number = 0; number <= runs; number++) {
      const outcome = yield* number === 0
        ? run(app, { seed, faults, decisions: [] })
        : run(app, { seed: seed + number - 1, faults })
      if (outcome.failure === undefined) continue
      const smallest = yield* shrink(app, outcome, options)
      const found = { seed: outcome.seed, decisions: outcome.decisions.length }
      return yield* new Counterexample({ message: text(smallest), outcome: smallest, found })
    }
    return runs + 1
  })
