/**
 * A server's tasks, for its views: calls that continue after their requests were answered. The feature that runs tasks adds them.
 *
 * Runs nothing itself. Tasks are only read when a view is.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Facts } from "./Detached.ts"

/** Progress reported by a handler. */
export interface Reported {
  readonly progress: number
  readonly total?: number | undefined
  readonly message?: string | undefined
}

/** An unfinished task. */
export interface OpenTask {
  /** Task ID. For an anonymous caller over HTTP, anyone who knows the ID can use the task, so views show a digest. */
  readonly id: string
  readonly tool: string
  /**
   * `asking` means it is waiting for its client's answers. `sleeping` means it is waiting until a certain time. `pending` means no process
   * is running it yet, but one will.
   */
  readonly state: "running" | "asking" | "sleeping" | "pending"
  /** When it was created, in milliseconds since the epoch. */
  readonly since: number
  /** Methods of the questions it is waiting on. */
  readonly asking: ReadonlyArray<string>
  /** When its sleep ends, in milliseconds since the epoch, or `undefined` if it isn't sleeping. */
  readonly wakesAt: number | undefined
  readonly progress: Reported | undefined
  /** Facts about the request that created it, or `undefined` if this process doesn't know them. */
  readonly facts: Pick<Facts, "clientInfo" | "principal" | "revision" | "sessionId"> | undefined
}

interface TaskCounts {
  readonly running: number
  readonly asking: number
  readonly sleeping: number
  /** Number of unanswered questions. */
  readonly questions: number
}

/** Stored tasks that no process is running. */
export type ParkedByState = Readonly<Record<"asking" | "sleeping" | "pending", number>>

export interface TaskSource {
  /** Open tasks, oldest first. */
  readonly list: Effect.Effect<ReadonlyArray<OpenTask>>
  /** Counts the tasks running in this process by state, for gauges, which can't wait. */
  readonly count: () => TaskCounts
  /** Tasks in the entire store that no process is running. */
  readonly parked: Effect.Effect<ParkedByState>
  /** Completes if the store responds, for health checks. `undefined` if the tasks end with this process. */
  readonly answers: Effect.Effect<void> | undefined
  /** Ends a task, and tells its client the reason. Returns false if it has already ended. */
  readonly cancel: (id: string, reason: string) => Effect.Effect<boolean>
}

/** One server's sources. */
export class TaskSources {
  readonly all = new Set<TaskSource>()
  private listener: (() => void) | undefined = undefined

  /** Called when a task starts or ends. */
  changed(): void {
    this.listener?.()
  }

  listen(listener: () => void): void {
    this.listener = listener
  }
}

const Sources = Context.Reference<TaskSources | undefined>("@effect-mcp/server/TaskSource/Sources", {
  defaultValue: () => undefined
})

/** Creates the context for layers whose tasks belong to a server. */
export const within = (sources: TaskSources): Context.Context<never> => Context.make(Sources, sources)

/** Adds a feature's tasks to its server's views until the scope closes. Returns a function to call when a task starts or ends. */
export const add = (source: TaskSource): Effect.Effect<() => void, never, Scope.Scope> =>
  Effect.flatMap(Sources, (sources) =>
    sources === undefined
      ? Effect.succeed(() => {})
      : Effect.acquireRelease(
          Effect.sync(() => {
            sources.all.add(source)
            return () => sources.changed()
          }),
          () => Effect.sync(() => sources.all.delete(source))
        )
  )
