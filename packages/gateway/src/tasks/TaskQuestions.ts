/**
 * Questions asked by the upstream server's tasks (2025-11-25). Each question goes only to the call that created its task.
 *
 * If a question arrives before the response that turns the call into a task, it waits for that response.
 */
import type { Middleware } from "@effect-mcp/client/ClientMiddleware"
import * as McpError from "@effect-mcp/protocol/McpError"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import { relatedTask } from "@effect-mcp/tasks/internal/TaskMaker"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import { CurrentCall, type UpstreamCall } from "../call/UpstreamCall.ts"

/** How long a question waits for its task's call. */
const patience = "10 seconds"

/** A call that a task's questions wait for, each with its own timeout. */
interface Awaited {
  readonly call: Deferred.Deferred<UpstreamCall<unknown>>
  questions: number
}

const unknown = McpError.invalidRequest("No running call belongs to this task")

const taskOf = (params: JsonObject | undefined): unknown => {
  const related = isJsonObject(params?._meta) ? params._meta[relatedTask] : undefined
  return isJsonObject(related) ? related.taskId : undefined
}

/** Removes the upstream server's task ID, because callers have one of the gateway's tasks instead. */
export const withoutTask = <P extends { readonly _meta?: JsonObject } | undefined>(params: P): P => {
  if (params?._meta?.[relatedTask] === undefined) return params
  const { [relatedTask]: _related, ...meta } = params._meta
  return { ...params, _meta: meta }
}

export class TaskQuestions {
  private readonly calls: ReadonlySet<UpstreamCall<unknown>>
  /** By task id, for as long as a question waits. */
  private readonly awaited = new Map<unknown, Awaited>()

  constructor(calls: ReadonlySet<UpstreamCall<unknown>>) {
    this.calls = calls
  }

  /** Called when the upstream server has turned a call into a task. */
  begun(call: UpstreamCall<unknown>): void {
    const awaited = this.awaited.get(call.taskId)
    if (awaited !== undefined) Deferred.doneUnsafe(awaited.call, Effect.succeed(call))
  }

  private callOf(id: unknown): Effect.Effect<UpstreamCall<unknown>, McpError.McpError> {
    return Effect.suspend(() => {
      for (const call of this.calls) if (call.taskId === id) return Effect.succeed(call)
      const awaited = this.awaited.get(id) ?? { call: Deferred.makeUnsafe(), questions: 0 }
      this.awaited.set(id, awaited)
      awaited.questions++
      const late = Effect.timeoutOrElse(Deferred.await(awaited.call), { duration: patience, orElse: () => unknown })
      return Effect.ensuring(
        late,
        Effect.sync(() => {
          if (--awaited.questions === 0) this.awaited.delete(id)
        })
      )
    })
  }

  /** Runs around the connection's questions. */
  readonly question: NonNullable<Middleware["question"]> = ({ params }, next) => {
    const id = taskOf(params)
    return id === undefined
      ? next
      : Effect.flatMap(this.callOf(id), (call) => Effect.provideService(next, CurrentCall, call))
  }
}
