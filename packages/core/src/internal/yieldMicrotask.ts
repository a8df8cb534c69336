/** The end of the current turn of the event loop: all messages of one turn leave in one write. */
import * as Effect from "effect/Effect"

/**
 * Completes after all code that runs in the same turn of the scheduler. A microtask: another turn of the event loop would double the cost
 * of a lone answer.
 */
export const end: Effect.Effect<void> = Effect.callback((resume) => queueMicrotask(() => resume(Effect.void)))
