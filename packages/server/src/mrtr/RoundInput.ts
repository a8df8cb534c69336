/** A handler's input during a round, which also marks the round's fibers for the scheduler. */
import type { ClientInput } from "@effect-mcp/core/ClientInput"
import type { Scheduler } from "effect/Scheduler"
import type { Questions } from "./Questions.ts"
import type { RoundTasks } from "./RoundScheduler.ts"
import * as RoundScheduler from "./RoundScheduler.ts"

export class RoundInput implements RoundTasks {
  ready = 0
  scheduled = 0
  private readonly questions: () => Questions

  constructor(questions: () => Questions) {
    this.questions = questions
  }

  // These are fields, because V8 would allocate a function that is assigned to a property in the old generation. The function would then
  // keep its round alive until a full collection.
  readonly ask: ClientInput["Service"]["ask"] = (method, params, options) =>
    this.questions().ask(method, params, options)
  readonly askExtension: ClientInput["Service"]["askExtension"] = (question, options) =>
    this.questions().askExtension(question, options)
  readonly once: ClientInput["Service"]["once"] = (name, schema, effect) => this.questions().once(name, schema, effect)
  readonly recorded: NonNullable<ClientInput["Service"]["recorded"]> = () => this.questions().recorded
}

/** Wraps `ambient` to count the rounds' tasks. Handlers must run on this scheduler for their siblings to be waited for. */
export const scheduler = (ambient: Scheduler): Scheduler =>
  RoundScheduler.over(ambient, (input) => (input instanceof RoundInput ? input : undefined))
