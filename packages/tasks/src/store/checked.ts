/**
 * Checks the values returned by a store's and journal's functions, because programs may provide their own. A value that isn't an Effect
 * would end the fibers that claim and renew tasks, and a rejected promise would end the process.
 */
import { effectOf } from "@effect-mcp/core/internal/calling"
import type { Journal } from "./Journal.ts"
import type { TaskStore } from "./TaskStore.ts"

/** Returns a store with checked functions. */
export const checkedStore = (store: TaskStore["Service"]): TaskStore["Service"] => ({
  outlives: store.outlives,
  create: (...args) => effectOf("TaskStore.create", () => store.create(...args)),
  get: (...args) => effectOf("TaskStore.get", () => store.get(...args)),
  list: (...args) => effectOf("TaskStore.list", () => store.list(...args)),
  answer: (...args) => effectOf("TaskStore.answer", () => store.answer(...args)),
  cancel: (...args) => effectOf("TaskStore.cancel", () => store.cancel(...args)),
  changes: (...args) => store.changes(...args)
})

/** Returns a journal with checked functions. */
export const checkedJournal = (journal: Journal["Service"]): Journal["Service"] => ({
  ...journal,
  claim: (...args) => effectOf("Journal.claim", () => journal.claim(...args)),
  take: (...args) => effectOf("Journal.take", () => journal.take(...args)),
  unstarted: (...args) => effectOf("Journal.unstarted", () => journal.unstarted(...args)),
  renew: (...args) => effectOf("Journal.renew", () => journal.renew(...args)),
  record: (...args) => effectOf("Journal.record", () => journal.record(...args)),
  answer: (...args) => effectOf("Journal.answer", () => journal.answer(...args)),
  message: (...args) => effectOf("Journal.message", () => journal.message(...args)),
  park: (...args) => effectOf("Journal.park", () => journal.park(...args)),
  settle: (...args) => effectOf("Journal.settle", () => journal.settle(...args)),
  parked: (...args) => effectOf("Journal.parked", () => journal.parked(...args)),
  lost: (...args) => effectOf("Journal.lost", () => journal.lost(...args))
})
