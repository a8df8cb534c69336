/** Combines a server's observers into one. Only loaded if there is one. */
import { callEach } from "@effect-mcp/core/internal/calling"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { given, type Observer } from "./Observer.ts"

/** Runs all effects in order, even if some fail, then fails with their failures. */
const runEach = <A, E, R>(
  all: ReadonlyArray<A>,
  run: (one: A) => Effect.Effect<void, E, R> | undefined
): Effect.Effect<void, E, R> =>
  Effect.flatMap(
    Effect.forEach(all, (one) => Effect.exit(Effect.suspend(() => run(one) ?? Effect.void))),
    (exits) => Exit.asVoidAll(exits)
  )

const admission = (all: ReadonlyArray<Observer>): Observer["admit"] => {
  const admitting = all.flatMap(({ admit }) => admit ?? [])
  if (admitting.length === 0) return undefined
  return () => {
    const full: Array<Effect.Effect<void>> = []
    callEach(admitting, (admit) => {
      const waiting = admit()
      if (waiting !== undefined) full.push(waiting)
    })
    return full.length === 0 ? undefined : runEach(full, (waiting) => waiting)
  }
}

/** Combines observers into one, or returns `undefined` if there are none. */
export const combine = (all: ReadonlyArray<Observer>): Observer | undefined => {
  if (all.length < 2) return all[0]
  const each = (call: (one: Observer) => unknown): unknown => callEach(all, call)
  return {
    admit: admission(all),
    request: (end, exit) => each((one) => one.request?.(end, exit)),
    question: (end, exit) => each((one) => one.question?.(end, exit)),
    notification: (message, session, envelope) => each((one) => one.notification?.(message, session, envelope)),
    opened: (session) => each((one) => one.opened?.(session)),
    closed: (session) => each((one) => one.closed?.(session)),
    task: (event) => each((one) => one.task?.(event)),
    taskRun: (end, exit) => each((one) => one.taskRun?.(end, exit)),
    drains: () => each((one) => one.drains?.()),
    refused: (refusal) => each((one) => one.refused?.(refusal)),
    carried: (received, sent) => each((one) => one.carried?.(received, sent)),
    serves: (observed) => runEach(all, (one) => one.serves?.(observed))
  }
}

/** The context's observers, combined into one. */
export const current: Effect.Effect<Observer | undefined> = Effect.map(given, combine)
