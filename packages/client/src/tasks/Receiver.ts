/** The interface through which a client uses its task receiver; see `TaskReceiver`. */
import type { TaskCapabilities } from "@effect-mcp/protocol/Capabilities"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type * as McpError from "@effect-mcp/protocol/McpError"
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

/** The answer to a question, in the revision's format. */
export type EncodedAnswer = Effect.Effect<unknown, McpError.McpError>

/** The tasks of one client. */
export interface Receiver {
  /** Returns the capabilities to declare, given the questions that the client answers. */
  readonly capabilities: (answers: { readonly sampling: boolean; readonly elicitation: boolean }) => TaskCapabilities
  /** Answers a question with a task. `params` are the task's. */
  readonly create: (
    method: string,
    params: JsonObject,
    answer: EncodedAnswer
  ) => Effect.Effect<JsonObject, McpError.McpError>
  /** Answers a request about a task, or returns `undefined` for any other method. */
  readonly receive: (request: JsonRpc.Request) => Effect.Effect<unknown, McpError.McpError> | undefined
}

/** Lets a client run tasks for its server. `layerMemory` keeps them in memory, separately for each client. */
export class TaskReceiver extends Context.Service<
  TaskReceiver,
  { readonly make: Effect.Effect<Receiver, never, Scope.Scope> }
>()("@effect-mcp/client/TaskReceiver") {}
