/** The end of the turn that runs: where what is said in one turn becomes one write. */
import * as Effect from "effect/Effect"

/**
 * Completes when all that runs now, and all that the scheduler runs in the same turn, has had its say. A microtask, since a turn of the
 * event loop more would cost a lone answer as much as the answer itself.
 */
export const end: Effect.Effect<void> = Effect.callback((resume) => queueMicrotask(() => resume(Effect.void)))
