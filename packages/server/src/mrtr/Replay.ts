/**
 * Asks the client without an open connection (spec 2026-07-28: basic/patterns/mrtr), by running the handler again from a journal in every
 * round.
 *
 * A question in the journal returns its answer. A new question is recorded and suspends the handler. Once the handler is only waiting for
 * questions, it is interrupted, its scope closes, and the round ends with all the questions it asked. Code before a question therefore runs
 * once per round, while `Once` steps run once per request. Suspension is an interruption, so `Effect.catch*` around a question can't
 * swallow it.
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

/** Marks the interruption that ends a round, so that finalizers can distinguish it from a cancellation; see `isSuspension`. */
class Suspension extends Context.Service<Suspension, true>()("@effect-mcp/server/mrtr/Suspension") {}
/** The annotation on that interruption, for other code that continues a handler later. */
export const suspension = Context.make(Suspension, true)
/** True if a handler is ending because its round is, and will run again once the client has answered. */
export const isSuspension = <E>(cause: Cause.Cause<E>): boolean =>
  cause.reasons.some((reason) => Cause.isInterruptReason(reason) && reason.annotations.has(Suspension.key))

/**
 * Interrupts the handler in the same way as its request, and waits for it to end, because the request has not ended until then. The
 * annotations contain the reason, which finalizers can read.
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

/** A single round on a settled journal. */
export class Round {
  private readonly journal: RoundJournal
  private readonly client: ClientDeclaration
  private readonly stepTimeout: number
  private readonly prematureResponses: { readonly [name: string]: unknown }
  /** Created by the first question or step. Most handlers have neither. */
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

  /** The handler's input, which also marks the fibers of the round. */
  readonly input: RoundInput = new RoundInput(() => this.questions)

  private get questions(): Questions {
    const { client, journal, prematureResponses, stepTimeout } = this
    if (this.made !== undefined) return this.made
    const onAsked = () => {
      if (this.isAsking) return
      this.isAsking = true
      this.onAsked(questions)
    }
    const questions = new Questions({ journal, client, stepTimeout, prematureResponses, onAsked, tasks: this.input })
    return (this.made = questions)
  }
}
