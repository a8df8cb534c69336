/** Defects of the audit log and of observers: they are logged, and change nothing of what becomes of a task. */
import * as Effect from "effect/Effect"

/** An error in the log. A logger that throws at it ends nothing. */
export const log = (...message: ReadonlyArray<unknown>): Effect.Effect<void> =>
  Effect.ignoreCause(Effect.logError(...message))

/** Logs a defect of an observer. */
export const logged = (defect: unknown): Effect.Effect<void> =>
  log("An audit log or an observer of tasks has thrown", defect)

/** `logged` for code outside of fibers, with the loggers of the server. */
export const reporter: Effect.Effect<(defect: unknown) => void> = Effect.map(Effect.context<never>(), (context) => {
  const run = Effect.runForkWith(context)
  return (defect) => void run(logged(defect))
})
