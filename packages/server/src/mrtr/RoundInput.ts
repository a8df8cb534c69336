/** What a handler asks through in a round: it marks the fibers of the round for the scheduler. */
import type { ClientInput } from "@effect-mcp/core/ClientInput"
import type { Scheduler } from "effect/Scheduler"
import type { Questions } from "./Questions.ts"
import type { ReadyTasks } from "./RoundScheduler.ts"
import * as RoundScheduler from "./RoundScheduler.ts"

export class RoundInput implements ReadyTasks {
  ready = 0
  private readonly questions: () => Questions

  constructor(questions: () => Questions) {
    this.questions = questions
  }

  // Fields: V8 makes a function that is assigned to a property in the old generation, where it keeps its round until a full collection.
  readonly ask: ClientInput["Service"]["ask"] = (method, params, options) =>
    this.questions().ask(method, params, options)
  readonly askExtension: ClientInput["Service"]["askExtension"] = (question, options) =>
    this.questions().askExtension(question, options)
  readonly once: ClientInput["Service"]["once"] = (name, schema, effect) => this.questions().once(name, schema, effect)
  readonly recorded: NonNullable<ClientInput["Service"]["recorded"]> = () => this.questions().recorded
}

/** `ambient`, counting the tasks of rounds: handlers must run on it for their siblings to be waited for. */
export const scheduler = (ambient: Scheduler): Scheduler =>
  RoundScheduler.over(ambient, (input) => (input instanceof RoundInput ? input : undefined))
