/** What the server's half of tasks shares: the store, what runs them, and how new ones are made. */
import * as Eager from "@effect-mcp/core/internal/eager"
import type { CallToolResult } from "@effect-mcp/protocol/model/Tool"
import * as Codecs from "@effect-mcp/protocol/Codecs"
import * as McpError from "@effect-mcp/protocol/McpError"
import { isJsonObject, type JsonObject, verbatim } from "@effect-mcp/protocol/model/Shape"
import * as ToolModel from "@effect-mcp/protocol/model/Tool"
import type { Revision } from "@effect-mcp/protocol/Revision"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import type { Task } from "../model/Task.ts"
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
  Eager.flatMap(look, (found) => (Option.isSome(found) ? Effect.succeed(found.value) : Effect.fail(unknownTask)))

/** Uses what the store has for the caller, at once where the store need not wait. */
export const using = <A, E, B, E2, R, R2>(
  look: Effect.Effect<Option.Option<A>, E, R>,
  use: (value: A) => Effect.Effect<B, E2, R2>
): Effect.Effect<B, E | E2 | McpError.McpError, R | R2> => {
  const exit = Eager.exitOf(look)
  return exit !== undefined && Exit.isSuccess(exit) && Option.isSome(exit.value)
    ? use(exit.value.value)
    : Eager.flatMap(found(look), use)
}

const canonical = Codecs.coder(verbatim(ToolModel.CallToolResult))

/** The result of a tool as it was stored. */
export const canonicalResult = (result: JsonObject): Effect.Effect<CallToolResult, McpError.McpError> =>
  Effect.mapErrorEager(canonical.decode(result), (message) =>
    McpError.internalError(`The stored result of the task is malformed: ${message}`)
  )

/** The result of a tool as a revision writes it. */
export const inRevision = (result: JsonObject, revision: Revision): Effect.Effect<JsonObject, McpError.McpError> =>
  inRevisionAtOnce(result, revision) ?? inRevisionAsEffect(result, revision)

/** Without a function for each step: nearly every result is right. Undefined for any other, which `inRevisionAsEffect` says what is wrong with. */
const inRevisionAtOnce = (result: JsonObject, revision: Revision): Exit.Exit<JsonObject> | undefined => {
  const codec = revision.clientRequests["tools/call"]
  const decoded = Eager.exitOf(canonical.decode(result))
  if (codec === undefined || decoded === undefined || Exit.isFailure(decoded)) return undefined
  const encoded = Eager.exitOf(Codecs.coders(codec).result.encode(decoded.value))
  if (encoded === undefined || Exit.isFailure(encoded)) return undefined
  return isJsonObject(encoded.value) ? Exit.succeed(encoded.value) : undefined
}

const inRevisionAsEffect = (result: JsonObject, revision: Revision): Effect.Effect<JsonObject, McpError.McpError> => {
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
