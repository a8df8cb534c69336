/** Makes tasks of calls that another server answers: a gateway decides which, where a server decides by its tools. */
import type { ExtensionRegistry, Granted } from "@effect-mcp/core/Extensions"
import type { EncodedResult } from "@effect-mcp/core/EncodedResult"
import * as Extension from "@effect-mcp/core/Extension"
import { RequestContext, type RequestServices } from "@effect-mcp/core/RequestContext"
import type * as McpError from "@effect-mcp/protocol/McpError"
import type { CallToolParams } from "@effect-mcp/protocol/model/Tool"
import type { Revision } from "@effect-mcp/protocol/Revision"
import type * as Middleware from "@effect-mcp/server/Middleware"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { CoreTasks } from "../extension/CoreTasks.ts"
import { TasksExtension } from "../extension/TasksExtension.ts"
import * as Memory from "../store/memory.ts"
import type { StoreLimits } from "../store/TaskStore.ts"
import * as CoreMethods from "./CoreMethods.ts"
import * as Creation from "./Creation.ts"
import * as Decision from "./Decision.ts"
import { makeService, type Options } from "./makeService.ts"
import * as Methods from "./Methods.ts"
import type { Service } from "./Service.ts"

export { asksInVain, taskRequired } from "./Decision.ts"
export { CoreTasks, TasksExtension }
export { relatedTask } from "../model/Wire2025.ts"

/** How the client of the running call takes a task for its answer: it asks for one (2025-11-25), or declared that it can (2026-07-28 on). */
export type Taken = "asked" | "possible"

export interface TaskMaker {
  /** Undefined for a client that has no task for this call. Fails for a malformed `task`. */
  readonly taken: (params: CallToolParams) => Effect.Effect<Taken | undefined, McpError.McpError, RequestContext>
  /** Makes the running call a task, which `handler` answers by a result of the tool; gives the answer to the call. */
  readonly make: (
    params: CallToolParams,
    handler: Middleware.Next
  ) => Effect.Effect<EncodedResult, McpError.McpError, RequestServices>
  /** Follows the tasks of the caller among the ids; see `Extensions.layer`. */
  readonly listen: (
    ids: ReadonlyArray<string>
  ) => Effect.Effect<Granted<ReadonlyArray<string>, never>, McpError.McpError, RequestServices>
  /** The methods of both generations. */
  readonly methods: Layer.Layer<never, never, ExtensionRegistry>
}

/** Whether a revision has the method for tasks. */
export const isMethod = (method: string, revision: Revision): boolean =>
  [CoreTasks, TasksExtension].some(
    (tasks) =>
      Extension.isIn(tasks, revision) && Object.values(tasks.requests).some((request) => request.method === method)
  )

const taken: TaskMaker["taken"] = (params) =>
  Effect.flatMap(RequestContext, (request): ReturnType<TaskMaker["taken"]> => {
    const methods = Decision.taskMethodsOf(request)
    if (methods === "core") return Effect.map(Decision.taskParamsOf(params), (task) => task && "asked")
    return Effect.succeed(methods && "possible")
  })

/** The handler waits for the other server, too: only its end, or the end of its task, interrupts it. */
const make = (service: Service, params: CallToolParams, handler: Middleware.Next) =>
  Effect.gen(function* () {
    const methods = Decision.taskMethodsOf(yield* RequestContext) ?? "extension"
    const task = methods === "core" ? yield* Decision.taskParamsOf(params) : undefined
    const form = Creation.formOf(service, methods, task?.ttl)
    return yield* Creation.created(service, { params, handler, canPark: false }, form)
  })

/** Keeps the tasks in memory, in the scope. */
export const makeMemory = (options: Options & Partial<StoreLimits>): Effect.Effect<TaskMaker, never, Scope.Scope> =>
  Effect.map(
    Effect.flatMap(Layer.build(Memory.layer(options)), (stores) => Effect.provideContext(makeService(options), stores)),
    (service) => ({
      taken,
      make: (params, handler) => make(service, params, handler),
      listen: (ids) => Methods.listen(service, ids),
      methods: Layer.merge(Methods.layer(service), CoreMethods.layer(service))
    })
  )
