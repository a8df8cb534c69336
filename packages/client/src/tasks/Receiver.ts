/** What a client needs of its receiver of tasks; see `TaskReceiver`. */
import type { TaskCapabilities } from "@effect-mcp/protocol/Capabilities"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type * as McpError from "@effect-mcp/protocol/McpError"
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

/** The answer to a question, in the words of the revision. */
export type EncodedAnswer = Effect.Effect<unknown, McpError.McpError>

/** The tasks of one client. */
export interface Receiver {
  /** What the client declares, of the questions that it answers. */
  readonly capabilities: (answers: { readonly sampling: boolean; readonly elicitation: boolean }) => TaskCapabilities
  /** Answers a question by a task; `params` are those of the task. */
  readonly create: (
    method: string,
    params: JsonObject,
    answer: EncodedAnswer
  ) => Effect.Effect<JsonObject, McpError.McpError>
  /** Answers a request about a task; undefined for a method of another kind. */
  readonly receive: (request: JsonRpc.Request) => Effect.Effect<unknown, McpError.McpError> | undefined
}

/** Lets a client run tasks for its server; `layerMemory` keeps them in memory, for each client its own. */
export class TaskReceiver extends Context.Service<
  TaskReceiver,
  { readonly make: Effect.Effect<Receiver, never, Scope.Scope> }
>()("@effect-mcp/client/TaskReceiver") {}
