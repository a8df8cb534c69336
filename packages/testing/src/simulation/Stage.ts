/** One run of a simulation: its decisions, driver and trace, and the state of its handlers. */
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import { type Decision, Decisions } from "./Decisions.ts"
import { Driver } from "../engine/Driver.ts"
import { type SimulatedFaults, type Likelihoods, likelihoods } from "./Faults.ts"
import { isHandler } from "../engine/handlers.ts"
import { Trace } from "./Trace.ts"

/** Reasons why a run is wrong. */
export interface RunFailure {
  /**
   * `invariant`: one of the app's checks failed. `client`: a program failed. `stuck`: the run does not end. `leak`: a handler's fiber is
   * left.
   */
  readonly kind: "invariant" | "client" | "stuck" | "leak"
  readonly message: string
}

interface Watched {
  readonly number: number
  operations: number
  /** Operations that are not counted: the ones that resume a preempted fiber. The others keep their numbers. */
  uncounted: number
}

export class Stage {
  readonly driver: Driver
  readonly decisions: Decisions
  readonly trace: Trace
  readonly faults: Likelihoods
  failure: RunFailure | undefined
  /** Clients whose connection was cut. */
  readonly cut = new Set<string>()
  /** Called when a check fails, because the rest of the run no longer matters. */
  onFailure: (() => void) | undefined
  private readonly handlers = new Map<Fiber.Fiber<unknown, unknown>, Watched>()
  private choices = 0

  constructor(
    seed: number | string,
    faults: SimulatedFaults,
    given: ReadonlyArray<Pick<Decision, "name" | "value">> | undefined
  ) {
    const decisions = new Decisions(seed, given)
    const reorder = faults.reorder ?? decisions.pick("reorder", [0, 0.02, 0.1, 0.3])
    const preempt = faults.preempt ?? decisions.pick("preempt", [0, 0.01, 0.05, 0.2])
    this.decisions = decisions
    this.faults = likelihoods(faults)
    this.driver = new Driver({
      next: (ready) => this.next(ready, reorder),
      preempts: (fiber) => this.preempts(fiber, preempt)
    })
    this.trace = new Trace(() => this.driver.clock.currentTimeMillisUnsafe())
  }

  private next(ready: number, likelihood: number): number {
    const name = `choice ${++this.choices}`
    const overtaken = (index: number) => `${name}: a fiber overtakes ${index} that were ready before it`
    return this.decisions.decide(name, likelihood, ready - 1, overtaken)
  }

  private preempts(fiber: Fiber.Fiber<unknown, unknown>, likelihood: number): boolean | number {
    if (!isHandler(fiber)) return false
    const watched = this.handlers.get(fiber) ?? { number: this.handlers.size + 1, operations: 0, uncounted: 0 }
    this.handlers.set(fiber, watched)
    if (watched.uncounted > 0) {
      watched.uncounted--
      return false
    }
    const { number } = watched
    const operation = ++watched.operations
    const name = `handler ${number} operation ${operation}`
    const before = `before operation ${operation}`
    // Half of them pause, so that data the handler has read may be stale when it continues.
    const { maxDelay } = this.faults
    const pauseOf = (value: number) => Math.max(0, value - maxDelay)
    const text = (value: number) =>
      pauseOf(value) > 0
        ? `handler ${number} pauses ${pauseOf(value)} ms ${before}`
        : `handler ${number} lets other fibers go first ${before}`
    const value = this.decisions.decide(name, likelihood, 2 * maxDelay, text)
    if (value === 0) return false
    // The end of its pause, and the operation before which it paused.
    watched.uncounted = 2
    return pauseOf(value) || true
  }

  /** Number of handler fibers that have not ended. */
  get running(): number {
    return [...this.handlers.keys()].filter((fiber) => fiber.pollUnsafe() === undefined).length
  }

  /** Fails the run. Only the first call counts. */
  fail(kind: RunFailure["kind"], message: string): void {
    if (this.failure !== undefined) return
    this.failure = { kind, message }
    this.trace.add(`!! ${message}`)
    this.trace.end()
    this.onFailure?.()
  }

  /** Decides what happens to the nth message that arrives at `place`. Returns `undefined` if the connection is cut instead. */
  arrival(place: string, number: number, what: string): Effect.Effect<"arrives" | "cut"> {
    return Effect.suspend(() => {
      const { cut, late, maxDelay, slow } = this.faults
      const name = `${place} ${number}`
      const cuts = this.decisions.decide(`${name} cut`, cut, 1, () => `${place}: the connection is cut before ${what}`)
      if (cuts > 0) return Effect.succeed("cut" as const)
      const pause = number === 1 ? this.pauseOf(place, slow, maxDelay) : (this.pauses.get(place) ?? 0)
      const delay = this.decisions.decide(
        `${name} late`,
        late,
        maxDelay,
        (millis) => `${place}: ${what} is ${millis} ms late`
      )
      return delay + pause === 0
        ? Effect.succeed("arrives" as const)
        : Effect.as(Effect.sleep(delay + pause), "arrives")
    })
  }

  private readonly pauses = new Map<string, number>()

  private pauseOf(place: string, likelihood: number, most: number): number {
    const text = (millis: number) => `${place}: the reader pauses ${millis} ms before each message`
    const pause = this.decisions.decide(`${place} slow`, likelihood, most, text)
    this.pauses.set(place, pause)
    return pause
  }
}
