/** Watches a handler's `Once` steps. */
import { ClientInput } from "@effect-mcp/core/ClientInput"
import * as Effect from "effect/Effect"

/** Called for each step that runs. Returns the step to run instead. */
export type Around = <A, E, R>(name: string, step: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/**
 * Runs `around` for each step that the handler starts in this run. Mutates the client of this run instead of providing another one, because
 * rounds and `Tasks.begin` recognize it by identity.
 */
export const watchSteps = (around: Around): Effect.Effect<void, never, ClientInput> =>
  Effect.map(ClientInput, (input) => {
    const { once, task } = input
    const watched: typeof once = (name, schema, step) => once(name, schema, around(name, step))
    Object.assign(input, { once: watched })
    if (task === undefined) return
    const transaction: typeof task.transaction = (sql) => {
      const inTransaction = task.transaction(sql)
      return inTransaction && ((name, schema, step) => inTransaction(name, schema, around(name, step)))
    }
    Object.assign(input, { task: { ...task, transaction } })
  })
