/**
 * The tasks of a server, for its views: calls that run on after their requests were answered. The feature that runs them adds them.
 *
 * Owns nothing that runs. A task is asked for only when a view is read.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Facts } from "./Detached.ts"

/** What a handler reports. */
export interface Reported {
  readonly progress: number
  readonly total?: number | undefined
  readonly message?: string | undefined
}

/** A task that has not ended. */
export interface OpenTask {
  /** To an anonymous caller over HTTP it is the right to use the task: views show a digest. */
  readonly id: string
  readonly tool: string
  /** `asking`: it waits for answers of its client. `sleeping`: until a time. `pending`: no process runs it, and one is going to. */
  readonly state: "running" | "asking" | "sleeping" | "pending"
  /** When it was created, in milliseconds since the epoch. */
  readonly since: number
  /** The methods of the questions that it waits for. */
  readonly asking: ReadonlyArray<string>
  /** When its sleep ends, in milliseconds since the epoch; undefined where it does not sleep. */
  readonly wakesAt: number | undefined
  readonly progress: Reported | undefined
  /** Of the request that made it; undefined where this process does not know it. */
  readonly facts: Pick<Facts, "clientInfo" | "principal" | "revision" | "sessionId"> | undefined
}

export interface TaskCounts {
  readonly running: number
  readonly asking: number
  readonly sleeping: number
  /** Questions that wait for answers. */
  readonly questions: number
}

/** Tasks of the store that no process runs. */
export type ParkedByState = Readonly<Record<"asking" | "sleeping" | "pending", number>>

export interface TaskSource {
  /** The oldest first. */
  readonly list: Effect.Effect<ReadonlyArray<OpenTask>>
  /** Those that run in this process, by state: for gauges, which cannot wait. */
  readonly count: () => TaskCounts
  /** Those that no process runs, of the whole store. */
  readonly parked: Effect.Effect<ParkedByState>
  /** Completes if the store answers, for health checks. `undefined` if the tasks end with this process. */
  readonly answers: Effect.Effect<void> | undefined
  /** Ends a task, whose client is told the reason; false where it has ended. */
  readonly cancel: (id: string, reason: string) => Effect.Effect<boolean>
}

/** The sources of one server. */
export class TaskSources {
  readonly all = new Set<TaskSource>()
  private listener: (() => void) | undefined = undefined

  /** Called when a task begins or ends. */
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

/** The context of layers whose tasks are those of a server. */
export const within = (sources: TaskSources): Context.Context<never> => Context.make(Sources, sources)

/** Adds the tasks of a feature to the views of its server, for as long as the scope. Gives what is to be called when one begins or ends. */
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
