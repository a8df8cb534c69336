/** This process's task runs, each with the engine execution that it belongs to. */
import type { Lease, Wake } from "../store/Journal.ts"
import type { Instance } from "./TaskWorkflow.ts"

export interface Run {
  readonly instance: Instance
  readonly owner: string
  /** Questions that the store shows as answered. */
  readonly closed: Set<string>
  /** True if earlier runs recorded nothing, and neither has this one so far. */
  isRetry: boolean
  /** Size in bytes of the recorded steps and sleeps as JSON. Failed attempts count too. */
  bytes: number
  entries: number
  /** Number of failed attempts by step key. */
  readonly failures: Map<string, number>
  /** True if the engine stopped it at a step, or the server is stopping: it must not end its task. */
  isStopped: boolean
  /** Its wake-up conditions, once it is parked. */
  wake: Wake | undefined
}

/** Runs by lease. A lease belongs to one run. */
export type Runs = WeakMap<Lease, Run>
