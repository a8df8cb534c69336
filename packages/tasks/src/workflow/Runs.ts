/** The runs of tasks in this process, each with the execution of the engine that it is a part of. */
import type { Lease, Wake } from "../store/Journal.ts"
import type { Instance } from "./TaskWorkflow.ts"

export interface Run {
  readonly instance: Instance
  readonly owner: string
  /** The questions that the store has as answered. */
  readonly closed: Set<string>
  /** Whether runs before this one recorded nothing, and this one has recorded nothing yet. */
  isRetry: boolean
  /** Of the steps and sleeps that it came to, as JSON; attempts that failed are entries, too. */
  bytes: number
  entries: number
  /** How many attempts of a step have failed, by its key. */
  readonly failures: Map<string, number>
  /** Whether the engine stopped it at a step, or the server stops: it does not end its task. */
  isStopped: boolean
  /** What it waits for, once it was parked. */
  wake: Wake | undefined
}

/** By their leases: a lease is of one run. */
export type Runs = WeakMap<Lease, Run>
