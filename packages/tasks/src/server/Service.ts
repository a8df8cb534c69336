/** State shared by the server side of tasks: the store, the supervisor, and the defaults for new tasks. */
import type { CallToolResult } from "@effect-mcp/protocol/model/Tool"
import * as Codecs from "@effect-mcp/protocol/Codecs"
import * as McpError from "@effect-mcp/protocol/McpError"
import { isJsonObject, type JsonObject, verbatim } from "@effect-mcp/protocol/model/Shape"
import * as ToolModel from "@effect-mcp/protocol/model/Tool"
import type { Revision } from "@effect-mcp/protocol/Revision"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Task, TaskOutcome } from "../model/Task.ts"
import * as Wire2026 from "../model/Wire2026.ts"
import type { TaskSupervisor } from "../run/TaskSupervisor.ts"
import type { Journal } from "../store/Journal.ts"
import type { TaskStore } from "../store/TaskStore.ts"
import type { Routes } from "./Routes.ts"
import type { ResultWaiters } from "./ResultWaiters.ts"

export interface Service {
  readonly store: TaskStore["Service"]
  readonly journal: Journal["Service"]
  readonly supervisor: TaskSupervisor
  /** Names of the claims to keep with a principal's tasks. */
  readonly claims: ReadonlyArray<string>
  /** Routes for task messages. */
  readonly routes: Routes
  readonly waits: ResultWaiters
  /** TTL of new tasks, in milliseconds. */
  readonly ttl: number
  /** Maximum TTL that a client may request, in milliseconds. */
  readonly maxTtl: number
  readonly pollInterval: number
  /** Maximum JSON size of a task's result, in bytes. */
  readonly resultBytes: number
  /** Requests per second for each caller and task method. */
  readonly rateLimit: number
}

/** Error for a task that is unknown, expired, or owned by another caller. It doesn't reveal which. */
export const unknownTask = McpError.invalidParams("Unknown task")

/** Returns the caller's task from the store. Fails with the unknown task error if there is none. */
export const found = <A, E, R>(
  look: Effect.Effect<Option.Option<A>, E, R>
): Effect.Effect<A, E | McpError.McpError, R> =>
  Effect.flatMap(look, (found) => (Option.isSome(found) ? Effect.succeed(found.value) : Effect.fail(unknownTask)))

const canonical = Codecs.coder(verbatim(ToolModel.CallToolResult))

/** Decodes a tool's stored result. */
export const canonicalResult = (result: JsonObject): Effect.Effect<CallToolResult, McpError.McpError> =>
  Effect.mapErrorEager(canonical.decode(result), (message) =>
    McpError.internalError(`The task's stored result is invalid: ${message}`)
  )

/** Returns a finished task's stored result. If the task failed or was cancelled, fails like the call would. */
export const resultOf = (outcome: TaskOutcome): Effect.Effect<JsonObject, McpError.McpError> => {
  if (outcome._tag === "Result") return Effect.succeed(outcome.result)
  if (outcome._tag === "Cancelled") return McpError.interrupted("The task was cancelled")
  const { code, data, message } = outcome
  return new McpError.McpError({ code, message, ...(data === undefined ? undefined : { data }) })
}

/** Encodes a tool's result for a revision. */
export const inRevision = (result: JsonObject, revision: Revision): Effect.Effect<JsonObject, McpError.McpError> => {
  const codec = revision.clientRequests["tools/call"]
  const failed = (message: string) =>
    McpError.internalError(`The task's result cannot be sent in revision ${revision.version}: ${message}`)
  const encode = (result: CallToolResult) =>
    codec === undefined ? Effect.succeed(result) : Codecs.coders(codec).result.encode(result)
  const encoded = (result: CallToolResult) =>
    Effect.flatMapEager(Effect.mapErrorEager(encode(result), failed), (wire) =>
      isJsonObject(wire) ? Effect.succeed(wire) : Effect.fail(failed("it is not an object"))
    )
  return Effect.flatMapEager(canonicalResult(result), encoded)
}

/** Returns a task in the 2026-07-28 format, with the call's result in the reader's revision. */
export const detailed = (task: Task, revision: Revision): Effect.Effect<Wire2026.DetailedTask, McpError.McpError> =>
  task.outcome?._tag === "Result"
    ? Effect.mapEager(inRevision(task.outcome.result, revision), (result) => Wire2026.write(task, result))
    : Effect.succeed(Wire2026.write(task))
