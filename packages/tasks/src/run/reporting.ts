/** Reports the creation and the end of each task that runs here, to an observer or the audit log. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { NewTask, TaskOutcome } from "../model/Task.ts"
import type { Claimed, Journal, Lease, Lost } from "../store/Journal.ts"
import type { TaskStore } from "../store/TaskStore.ts"

export interface TaskStores {
  readonly store: TaskStore["Service"]
  readonly journal: Journal["Service"]
}

/** A task as it was created, without its arguments. */
export interface Made extends Pick<NewTask, "client" | "owner" | "tool"> {
  readonly createdAt: number
}

const madeOf = ({ client, owner, tool }: NewTask, { createdAt }: Pick<Made, "createdAt">): Made => ({
  client,
  owner,
  tool,
  createdAt
})

/** Receives the reports. `made` is `undefined` if this process does not know the task. */
export interface Reports {
  readonly created: (id: string, made: Made) => void
  readonly settled: (id: string, made: Made | undefined, outcome: TaskOutcome) => void
  /** Called once per task, even if its lease is lost and its end is rejected at the same moment. */
  readonly expired: (id: string, made: Made | undefined) => void
}

/** Wraps a store and a journal so that they report to `reports`. */
export const reporting = ({ journal, store }: TaskStores, reports: Reports): TaskStores => {
  /** Tasks that run here. Weak, because a lost lease may end without notice. */
  const running = new WeakMap<Lease, Made>()
  const expired = new WeakSet<Lease>()
  const leased = ({ input, lease, task }: Claimed): void => void running.set(lease, madeOf(input, task))
  const lost = (lease: Lease, reason: Lost["reason"]) =>
    Effect.sync(() => {
      if (reason !== "expired" || expired.has(lease)) return
      expired.add(lease)
      reports.expired(lease.task, running.get(lease))
    })
  return {
    store: {
      ...store,
      create: (input, node) =>
        Effect.tap(store.create(input, node), ({ lease, task }) =>
          Effect.sync(() => {
            const made = madeOf(input, task)
            running.set(lease, made)
            reports.created(lease.task, made)
          })
        )
    },
    journal: {
      ...journal,
      claim: (node, tools, max) =>
        Effect.tap(journal.claim(node, tools, max), (claimed) => Effect.sync(() => claimed.forEach(leased))),
      take: (node, task) =>
        Effect.tap(journal.take(node, task), (taken) => Effect.sync(() => Option.map(taken, leased))),
      settle: (lease, outcome, message) =>
        journal.settle(lease, outcome, message).pipe(
          Effect.tapError(({ reason }) => lost(lease, reason)),
          Effect.tap(() => Effect.sync(() => reports.settled(lease.task, running.get(lease), outcome)))
        ),
      lost: (lease) => Effect.tap(journal.lost(lease), ({ reason }) => lost(lease, reason)),
      expired: Effect.tap(journal.expired, ({ input, task }) =>
        Effect.sync(() => reports.expired(task.id, madeOf(input, task)))
      )
    }
  }
}
