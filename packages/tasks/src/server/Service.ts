/** What the server's half of tasks shares: the store, what runs them, and how new ones are made. */
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
import type { ResultWaits } from "./ResultWaits.ts"

export interface Service {
  readonly store: TaskStore["Service"]
  readonly journal: Journal["Service"]
  readonly supervisor: TaskSupervisor
  /** The claims of a principal that a task keeps. */
  readonly claims: ReadonlyArray<string>
  /** Where messages of tasks leave in sessions. */
  readonly routes: Routes
  readonly waits: ResultWaits
  /** Of new tasks, in milliseconds. */
  readonly ttl: number
  /** The longest time to live that a client may ask for, in milliseconds. */
  readonly maxTtl: number
  readonly pollInterval: number
  /** Bytes of the result of a task, as JSON. */
  readonly resultBytes: number
  /** Requests per second and caller of each method for tasks. */
  readonly rateLimit: number
}

/** The error for a task that is unknown, has expired or belongs to another caller: which of them is not said. */
export const unknownTask = McpError.invalidParams("Unknown task")

/** What the store has for the caller, else the error for an unknown task. */
export const found = <A, E, R>(
  look: Effect.Effect<Option.Option<A>, E, R>
): Effect.Effect<A, E | McpError.McpError, R> =>
  Effect.flatMap(look, (found) => (Option.isSome(found) ? Effect.succeed(found.value) : Effect.fail(unknownTask)))

const canonical = Codecs.coder(verbatim(ToolModel.CallToolResult))

/** The result of a tool as it was stored. */
export const canonicalResult = (result: JsonObject): Effect.Effect<CallToolResult, McpError.McpError> =>
  Effect.mapErrorEager(canonical.decode(result), (message) =>
    McpError.internalError(`The stored result of the task is malformed: ${message}`)
  )

/** The stored result of a task that has ended. Fails as the call does if the task failed or was cancelled. */
export const resultOf = (outcome: TaskOutcome): Effect.Effect<JsonObject, McpError.McpError> => {
  if (outcome._tag === "Result") return Effect.succeed(outcome.result)
  if (outcome._tag === "Cancelled") return McpError.interrupted("The task was cancelled")
  const { code, data, message } = outcome
  return new McpError.McpError({ code, message, ...(data === undefined ? undefined : { data }) })
}

/** The result of a tool as a revision writes it. */
export const inRevision = (result: JsonObject, revision: Revision): Effect.Effect<JsonObject, McpError.McpError> => {
  const codec = revision.clientRequests["tools/call"]
  const failed = (message: string) =>
    McpError.internalError(`The result of the task cannot be encoded in revision ${revision.version}: ${message}`)
  const encode = (result: CallToolResult) =>
    codec === undefined ? Effect.succeed(result) : Codecs.coders(codec).result.encode(result)
  const encoded = (result: CallToolResult) =>
    Effect.flatMapEager(Effect.mapErrorEager(encode(result), failed), (wire) =>
      isJsonObject(wire) ? Effect.succeed(wire) : Effect.fail(failed("it is no object"))
    )
  return Effect.flatMapEager(canonicalResult(result), encoded)
}

/** A task as its reader gets it in 2026-07-28: its result is that of the call in the reader's revision. */
export const detailed = (task: Task, revision: Revision): Effect.Effect<Wire2026.DetailedTask, McpError.McpError> =>
  task.outcome?._tag === "Result"
    ? Effect.mapEager(inRevision(task.outcome.result, revision), (result) => Wire2026.write(task, result))
    : Effect.succeed(Wire2026.write(task))
