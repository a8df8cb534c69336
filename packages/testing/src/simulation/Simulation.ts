/**
 * Runs a whole application in one process, with every random choice determined by a seed: which fiber runs next, when a handler pauses, how
 * long messages are delayed, which connections break, and the values from Effect's `Random`. Time comes from a virtual clock.
 *
 * The same seed always produces the same run. A failing run is repeated with fewer and fewer random decisions until every remaining
 * decision is needed for the failure.
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

/** The result of a single run. */
export interface SimulationOutcome {
  readonly seed: number | string
  /** The random decisions made, in order. */
  readonly decisions: ReadonlyArray<Decision>
  /** The events, in order: message arrivals, broken connections and endings. Random IDs are replaced by numbers. */
  readonly trace: ReadonlyArray<string>
  /** The failure, or `undefined` if the run succeeded. */
  readonly failure: RunFailure | undefined
}

/** A failing seed, reduced to the fewest decisions that still make it fail. */
export class Counterexample extends Data.TaggedError("Counterexample")<{
  readonly message: string
  readonly outcome: SimulationOutcome
  /** The first seed that failed, and the number of decisions in its run. */
  readonly found: { readonly seed: number | string; readonly decisions: number }
}> {
  override [Inspectable.NodeInspectSymbol](): string {
    return this.message
  }
}

/** Options for a single run. */
export interface RunOptions {
  /** The seed. Default 1. */
  readonly seed?: number | string | undefined
  readonly faults?: SimulatedFaults | undefined
  /** Makes only these random decisions and takes the ordinary course otherwise. Default: the seed's own decisions. */
  readonly decisions?: ReadonlyArray<Pick<Decision, "name" | "value">> | undefined
}

/**
 * Runs an application once. The outcome contains a failure if a check fails, a program dies, the run never ends, a handler leaves a fiber
 * running, or a program fails although its connection wasn't cut.
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

/** Options for a check. */
export interface CheckOptions {
  /** The first seed to try, followed by the next numbers. Default 1. */
  readonly seed?: number | undefined
  /** Maximum number of seeds to try. Default 100. */
  readonly runs?: number | undefined
  readonly faults?: SimulatedFaults | undefined
  /** Maximum number of runs for shrinking a counterexample. Default 500. */
  readonly shrinks?: number | undefined
}

/** Returns shorter lists of decisions, and lists with weaker ones. */
function* fewer({ decisions }: Pick<SimulationOutcome, "decisions">): Iterable<Pick<SimulationOutcome, "decisions">> {
  for (const some of shorter(decisions)) yield { decisions: some }
  // Several decisions may mask each other, so that none of them can be dropped alone.
  if (decisions.length > 1) for (const decision of decisions) yield { decisions: [decision] }
  for (const [index, decision] of decisions.entries()) {
    for (const value of new Set([1, Math.floor(decision.value / 2), Math.floor((decision.value * 3) / 4)])) {
      if (value >= 1 && value < decision.value) yield { decisions: decisions.with(index, { ...decision, value }) }
    }
  }
}

/** Finds the fewest decisions with which a run fails in the same way. */
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

/** Maximum characters in a line of the trace. */
const shown = 160

/** Formats a failed run for display. */
export const text = ({ decisions, failure, seed, trace }: SimulationOutcome): string =>
  [
    failure?.message ?? "Nothing is wrong",
    `Seed ${seed}${decisions.length === 0 ? ", without a decision of chance" : ", where"}`,
    ...decisions.map((decision) => `  ${decision.text}`),
    "What happened:",
    ...trace.map((line) => `  ${line.length > shown ? `${line.slice(0, shown)}…` : line}`)
  ].join("\n")

/**
 * Runs an application with many seeds, starting with a run without any randomness. Fails with a `Counterexample` for the first failing run,
 * shrunk as far as possible. Returns the number of runs.
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
