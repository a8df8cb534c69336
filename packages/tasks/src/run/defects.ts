/** Logs defects in the audit log and in observers, which never affect a task. */
import * as Effect from "effect/Effect"

/** Logs an error. A logger that throws has no effect. */
export const log = (...message: ReadonlyArray<unknown>): Effect.Effect<void> =>
  Effect.ignoreCause(Effect.logError(...message))

/** Logs a defect in an observer. */
export const logged = (defect: unknown): Effect.Effect<void> =>
  log("A task audit log or observer threw an error", defect)

/** Like `logged`, for code outside fibers. Uses the server's loggers. */
export const reporter: Effect.Effect<(defect: unknown) => void> = Effect.map(Effect.context<never>(), (context) => {
  const run = Effect.runForkWith(context)
  return (defect) => void run(logged(defect))
})
