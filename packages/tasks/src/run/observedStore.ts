/** Wraps a store and a journal so that the server's observers see tasks being created and ended. Without observers they stay unchanged. */
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import type { Observer, TaskEvent } from "@effect-mcp/server/Observer"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { isToolFailure, type NewTask, type TaskOutcome, type Task } from "../model/Task.ts"
import type { Claimed, Journal, Lease } from "../store/Journal.ts"
import type { TaskStore } from "../store/TaskStore.ts"
import * as Defects from "./defects.ts"
import { tellingExpiry } from "./expiry.ts"

interface Services {
  readonly store: TaskStore["Service"]
  readonly journal: Journal["Service"]
}

/** Like on the wire, a failure that the tool reports counts as a failed task. */
const stateOf = (outcome: TaskOutcome): TaskEvent["state"] => {
  if (outcome._tag === "Cancelled") return "cancelled"
  return outcome._tag === "Error" || isToolFailure(outcome) ? "failed" : "completed"
}

/** Returns the caller stored with a task. */
const callerOf = ({ client: { claims, subject } }: NewTask): TaskEvent["principal"] => ({
  subject: typeof subject === "string" ? subject : undefined,
  claims: isJsonObject(claims) ? claims : {}
})

interface Known {
  readonly input: NewTask
  readonly createdAt: number
}

const isOpen = (task: Option.Option<Task>): boolean => Option.isSome(task) && task.value.outcome === undefined

const observedBy = ({ journal, store }: Services, told: (event: TaskEvent) => void, clock: Clock.Clock): Services => {
  /** Tasks that are running here. */
  const known = new WeakMap<Lease, Known>()
  const leased = ({ input, lease, task: { createdAt } }: Claimed): void => void known.set(lease, { input, createdAt })
  const tell = (id: string, of: Known | undefined, state: TaskEvent["state"]): void => {
    const age = of === undefined ? undefined : clock.currentTimeMillisUnsafe() - of.createdAt
    told({ state, id, age, tool: of?.input.tool, principal: of && callerOf(of.input) })
  }
  const tellOf = (lease: Lease, state: TaskEvent["state"]): void => tell(lease.task, known.get(lease), state)
  const expiring = tellingExpiry(journal, (lease) => tellOf(lease, "expired"))
  /** The first cancel of a task ends it. */
  const cancelled = (task: Option.Option<Task>, reason: string | undefined) =>
    Effect.sync(() => {
      if (Option.isNone(task) || task.value.outcome?._tag !== "Cancelled") return
      const { createdAt, id, updatedAt } = task.value
      told({ state: "cancelled", id, reason, age: updatedAt - createdAt, tool: undefined, principal: undefined })
    })
  return {
    store: {
      ...store,
      create: (input, node) =>
        Effect.tap(store.create(input, node), ({ lease, task }) =>
          Effect.sync(() => {
            const made = { input, createdAt: task.createdAt }
            known.set(lease, made)
            tell(task.id, made, "created")
          })
        ),
      cancel: (id, owner, message) =>
        Effect.flatMap(store.get(id, owner), (before) =>
          Effect.tap(store.cancel(id, owner, message), (after) =>
            isOpen(before) ? cancelled(after, message) : Effect.void
          )
        )
    },
    journal: {
      ...journal,
      claim: (node, tools, max) =>
        Effect.tap(journal.claim(node, tools, max), (claimed) => Effect.sync(() => claimed.forEach(leased))),
      take: (node, task) =>
        Effect.tap(journal.take(node, task), (taken) => Effect.sync(() => Option.map(taken, leased))),
      settle: (lease, outcome, message) =>
        Effect.tap(expiring.settle(lease, outcome, message), () => Effect.sync(() => tellOf(lease, stateOf(outcome)))),
      lost: expiring.lost,
      expired: Effect.tap(journal.expired, ({ input, task: { createdAt, id } }) =>
        Effect.sync(() => tell(id, { input, createdAt }, "expired"))
      )
    }
  }
}

export const observedStore = (services: Services, observer: Observer | undefined): Effect.Effect<Services> =>
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
