/**
 * Asking without a connection to ask over (spec 2026-07-28: basic/patterns/mrtr): a handler is run again for every round, on a journal.
 *
 * A recorded question returns its answer. A new one is noted and suspends; once nothing but questions is left to do the handler is
 * interrupted, its scope closes, and the round ends with everything it asked. Code before a question therefore runs once per round;
 * `Once` steps run once per request. `Effect.catch*` around a question cannot swallow the suspension: it is an interruption.
 */
import type { ClientDeclaration } from "@effect-mcp/core/ClientInput"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type { RoundJournal } from "./Journal.ts"
import { Questions } from "./Questions.ts"
import { RoundInput } from "./RoundInput.ts"

export type { RoundQuestion as InputRequest } from "./Questions.ts"
export { scheduler } from "./RoundInput.ts"

/** Marks the interruption by which a round ends, so that a finalizer can tell it from a cancel: see `isSuspension`. */
class Suspension extends Context.Service<Suspension, true>()("@effect-mcp/server/mrtr/Suspension") {}
/** The annotation of that interruption, for what else continues a handler later. */
export const suspension = Context.make(Suspension, true)
/** Whether a handler ends because its round does: it will be run again when the client has answered. */
export const isSuspension = <E>(cause: Cause.Cause<E>): boolean =>
  cause.reasons.some((reason) => Cause.isInterruptReason(reason) && reason.annotations.has(Suspension.key))

/**
 * Interrupts the handler as its request is, and waits for its end: until then the request has not ended either. The annotations say why,
 * and its finalizers read them.
 */
export const passOn = (
  exit: Exit.Exit<unknown, unknown>,
  handler: Fiber.Fiber<unknown, unknown>
): Effect.Effect<void> => {
  const reason = Exit.isFailure(exit) ? exit.cause.reasons.find(Cause.isInterruptReason) : undefined
  if (reason === undefined) return Effect.void
  handler.interruptUnsafe(reason.fiberId, Context.makeUnsafe(reason.annotations))
  return Effect.asVoid(Fiber.await(handler))
}

/** One round on a settled journal. */
export class Round {
  private readonly journal: RoundJournal
  private readonly client: ClientDeclaration
  private readonly stepTimeout: number
  private readonly prematureResponses: { readonly [name: string]: unknown }
  /** Made by the first question or step: most handlers have none. */
  private made: Questions | undefined = undefined
  private isAsking = false
  /** Called with the first question. */
  private readonly onAsked: (questions: Questions) => void

  constructor(
    journal: RoundJournal,
    client: ClientDeclaration,
    stepTimeout: number,
    onAsked: (questions: Questions) => void,
    prematureResponses: { readonly [name: string]: unknown } = {}
  ) {
    this.journal = journal
    this.client = client
    this.stepTimeout = stepTimeout
    this.onAsked = onAsked
    this.prematureResponses = prematureResponses
  }

  /** What the handler asks through; it marks the fibers of the round. */
  readonly input: RoundInput = new RoundInput(() => this.questions)

  private get questions(): Questions {
    const { client, journal, prematureResponses, stepTimeout } = this
    if (this.made !== undefined) return this.made
    const onAsked = () => {
      if (this.isAsking) return
      this.isAsking = true
      this.onAsked(questions)
    }
    const isReady = () => this.input.ready > 0
    const questions = new Questions({ journal, client, stepTimeout, prematureResponses, onAsked, isReady })
    return (this.made = questions)
  }
}
