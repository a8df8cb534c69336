/** Many observers of a server as one. Loaded where there is one. */
import * as Effect from "effect/Effect"
import { given, type Observer } from "./Observer.ts"

/** All of them as one; undefined where there is none. */
export const combine = (all: ReadonlyArray<Observer>): Observer | undefined => {
  if (all.length < 2) return all[0]
  const admitting = all.flatMap(({ admit }) => admit ?? [])
  return {
    admit:
      admitting.length === 0
        ? undefined
        : () => {
            const full = admitting.flatMap((admit) => admit() ?? [])
            return full.length === 0 ? undefined : Effect.forEach(full, (waiting) => waiting, { discard: true })
          },
    request: (end, exit) => all.forEach((one) => one.request?.(end, exit)),
    question: (end, exit) => all.forEach((one) => one.question?.(end, exit)),
    notification: (message, session, envelope) => all.forEach((one) => one.notification?.(message, session, envelope)),
    opened: (session) => all.forEach((one) => one.opened?.(session)),
    closed: (session) => all.forEach((one) => one.closed?.(session)),
    task: (event) => all.forEach((one) => one.task?.(event)),
    taskRun: (end, exit) => all.forEach((one) => one.taskRun?.(end, exit)),
    drains: () => all.forEach((one) => one.drains?.()),
    refused: (refusal) => all.forEach((one) => one.refused?.(refusal)),
    carried: (received, sent) => all.forEach((one) => one.carried?.(received, sent)),
    serves: (observed) => Effect.forEach(all, (one) => one.serves?.(observed) ?? Effect.void, { discard: true })
  }
}

/** The observers of the context as one. */
export const current: Effect.Effect<Observer | undefined> = Effect.map(given, combine)
