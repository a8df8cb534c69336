/** Creates tasks for calls that another server handles. A gateway decides which calls become tasks; a server decides by its tools. */
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

/** How the current call's client accepts a task: it requested one (2025-11-25), or declared support (since 2026-07-28). */
export type Taken = "asked" | "possible"

export interface TaskMaker {
  /** Returns `undefined` if the client doesn't accept a task for this call. Fails if `task` is malformed. */
  readonly taken: (params: CallToolParams) => Effect.Effect<Taken | undefined, McpError.McpError, RequestContext>
  /** Turns the current call into a task whose tool result `handler` produces. Returns the response to the call. */
  readonly make: (
    params: CallToolParams,
    handler: Middleware.Next
  ) => Effect.Effect<EncodedResult, McpError.McpError, RequestServices>
  /** Follows the caller's tasks with these IDs; see `Extensions.layer`. */
  readonly listen: (
    ids: ReadonlyArray<string>
  ) => Effect.Effect<Granted<ReadonlyArray<string>, never>, McpError.McpError, RequestServices>
  /** The methods of both generations. */
  readonly methods: Layer.Layer<never, never, ExtensionRegistry>
}

/** True if a revision has this task method. */
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

/** The handler also waits for the other server. It is only interrupted when it ends or its task does. */
const make = (service: Service, params: CallToolParams, handler: Middleware.Next) =>
  Effect.gen(function* () {
    const methods = Decision.taskMethodsOf(yield* RequestContext) ?? "extension"
    const task = methods === "core" ? yield* Decision.taskParamsOf(params) : undefined
    const form = Creation.formOf(service, methods, task?.ttl)
    return yield* Creation.created(service, { params, handler, canPark: false }, form)
  })

/** Keeps the tasks in memory until the scope closes. */
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
