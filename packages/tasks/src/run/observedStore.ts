/** Wraps a store and a journal so that the server's observers see tasks being created and ended. Without observers they stay unchanged. */
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import type { Observer, TaskEvent } from "@effect-mcp/server/Observer"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { isToolFailure, type TaskOutcome, type Task } from "../model/Task.ts"
import * as Defects from "./defects.ts"
import { type Made, reporting, type TaskStores } from "./reporting.ts"

/** Like on the wire, a failure that the tool reports counts as a failed task. */
const stateOf = (outcome: TaskOutcome): TaskEvent["state"] => {
  if (outcome._tag === "Cancelled") return "cancelled"
  return outcome._tag === "Error" || isToolFailure(outcome) ? "failed" : "completed"
}

/** Returns the caller stored with a task. */
const callerOf = ({ client: { claims, subject } }: Made): TaskEvent["principal"] => ({
  subject: typeof subject === "string" ? subject : undefined,
  claims: isJsonObject(claims) ? claims : {}
})

const isOpen = (task: Option.Option<Task>): boolean => Option.isSome(task) && task.value.outcome === undefined

const observedBy = (services: TaskStores, told: (event: TaskEvent) => void, clock: Clock.Clock): TaskStores => {
  const tell = (id: string, made: Made | undefined, state: TaskEvent["state"]): void => {
    const age = made === undefined ? undefined : clock.currentTimeMillisUnsafe() - made.createdAt
    told({ state, id, age, tool: made?.tool, principal: made && callerOf(made) })
  }
  const { journal, store } = reporting(services, {
    created: (id, made) => tell(id, made, "created"),
    settled: (id, made, outcome) => tell(id, made, stateOf(outcome)),
    expired: (id, made) => tell(id, made, "expired")
  })
  /** The first cancel of a task ends it. */
  const cancelled = (task: Option.Option<Task>, reason: string | undefined) =>
    Effect.sync(() => {
      if (Option.isNone(task) || task.value.outcome?._tag !== "Cancelled") return
      const { createdAt, id, updatedAt } = task.value
      told({ state: "cancelled", id, reason, age: updatedAt - createdAt, tool: undefined, principal: undefined })
    })
  const cancel: TaskStores["store"]["cancel"] = (id, owner, message) =>
    Effect.flatMap(store.get(id, owner), (before) =>
      Effect.tap(store.cancel(id, owner, message), (after) =>
        isOpen(before) ? cancelled(after, message) : Effect.void
      )
    )
  return { journal, store: { ...store, cancel } }
}

export const observedStore = (services: TaskStores, observer: Observer | undefined): Effect.Effect<TaskStores> =>
  Effect.map(Effect.zip(Clock.Clock, Defects.reporter), ([clock, failed]) => {
    const { task } = observer ?? {}
    if (task === undefined) return services
    const told = (event: TaskEvent): void => {
      try {
        task(event)
      } catch (defect) {
        failed(defect)
      }
    }
    return observedBy(services, told, clock)
  })
