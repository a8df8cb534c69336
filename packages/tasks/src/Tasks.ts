/**
 * Tool calls that outlive their request. Add it to a server like any other feature.
 *
 * A tool's `task` option says that a call may or must become a task. The handler stays the same: as a task, it runs in the server's scope.
 * Its progress becomes the task's message, and its questions are answered in separate requests.
 */
import { registrationLayer } from "@effect-mcp/core/internal/handlers"
import type { ExtensionRegistry } from "@effect-mcp/core/Extensions"
import { ToolRegistry } from "@effect-mcp/core/Tools"
import * as Detached from "@effect-mcp/server/Detached"
import { MiddlewareRegistry } from "@effect-mcp/server/Middleware"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Attempts from "./server/Attempts.ts"
import * as CallMiddleware from "./server/CallMiddleware.ts"
import * as CoreMethods from "./server/CoreMethods.ts"
import * as Handles from "./server/Handles.ts"
import * as HandleTools from "./server/HandleTools.ts"
import * as ListedTools from "./server/ListedTools.ts"
import * as Methods from "./server/Methods.ts"
import { makeService, type Options as ServiceOptions } from "./server/makeService.ts"
import type { Journal } from "./store/Journal.ts"
import * as Memory from "./store/memory.ts"
import type { TaskStore } from "./store/TaskStore.ts"

export { begin } from "./server/Begin.ts"
export { CoreTasks as core } from "./extension/CoreTasks.ts"
export { TasksExtension as extension } from "./extension/TasksExtension.ts"
export type { HandleOptions } from "./server/Handles.ts"

/** Options for a server's tasks. */
export interface Options extends ServiceOptions {
  /**
   * Serves clients that don't support tasks with handles: a call to a tool with `task` that takes longer than `answerWithin` returns its
   * task's ID, in text and in structured content, and tools such as `tasks_status` follow the task. `true` uses the defaults. Default: a
   * tool with `task: "optional"` responds within the request, and one with `task: "required"` is not offered.
   */
  readonly handles?: true | Handles.HandleOptions | undefined
}

/**
 * Like `layer`, but keeps tasks in the store that you provide. `layer` keeps them in memory; the `sqlite` and `postgres` modules keep them
 * in a database. This server's tools also continue tasks that another process left in the store.
 */
export const layerStore = (
  options: Options = {}
): Layer.Layer<never, never, TaskStore | Journal | ToolRegistry | MiddlewareRegistry | ExtensionRegistry> =>
  Layer.unwrap(
    Effect.gen(function* () {
      const scope = yield* Detached.scope
      const service = yield* Scope.provide(makeService(options), scope)
      const tools = yield* ToolRegistry
      const executing = { tools, middleware: yield* MiddlewareRegistry }
      const handles =
        options.handles === undefined ? undefined : Handles.make(options.handles === true ? {} : options.handles)
      yield* Effect.forkIn(service.supervisor.resume(tools.taskTools, Attempts.again(service, executing)), scope)
      const calls = registrationLayer(MiddlewareRegistry, (registry, _services: Context.Context<never>) =>
        registry.register(CallMiddleware.middleware({ service, executing, handles }), {
          method: "tools/call",
          innermost: true,
          when: CallMiddleware.mayBeTask(tools)
        })
      )
      const lists = registrationLayer(MiddlewareRegistry, (registry, _services: Context.Context<never>) =>
        registry.register(ListedTools.middleware(tools, handles), {
          method: "tools/list",
          when: () => handles !== undefined || tools.mayNeedTask()
        })
      )
      const following = handles === undefined ? Layer.empty : HandleTools.layer(service, handles)
      return Layer.mergeAll(calls, lists, Methods.layer(service), CoreMethods.layer(service), following)
    })
  )

/**
 * Lets the server's tools that have `task` set respond with tasks, which are kept in this process's memory and end with it. In 2026-07-28
 * this applies to clients that declare the `io.modelcontextprotocol/tasks` extension, and in 2025-11-25 to calls with `task` in their
 * params. For other clients, a tool with `task: "optional"` responds within the request, and a tool with `task: "required"` is not listed
 * and rejects the call.
 *
 * A task belongs to its caller: a principal, or else the connection, or else (over HTTP without a principal) anyone who knows its ID.
 *
 * @example
 * ```ts
 * import { Progress, Tool, Tools } from "@effect-mcp/core"
 * import { McpServer } from "@effect-mcp/server"
 * import { Tasks } from "@effect-mcp/tasks"
 * import { Effect, Layer, Schema } from "effect"
 *
 * const Report = Tool.make("report", {
 *   description: "Writes a report",
 *   input: { topic: Schema.String },
 *   output: { pages: Schema.Int },
 *   task: "optional"
 * })
 *
 * const report = Tools.layer(Report, ({ topic }) =>
 *   Effect.as(Progress.report(1, { message: `Reading about ${topic}` }), { pages: 12 })
 * )
 *
 * export const server = McpServer.layer({
 *   name: "reports",
 *   version: "1.0.0",
 *   features: Layer.mergeAll(report, Tasks.layer())
 * })
 * ```
 */
export const layer = (
  options: Options & Omit<Memory.Options, "lease"> = {}
): Layer.Layer<never, never, ToolRegistry | MiddlewareRegistry | ExtensionRegistry> => {
  const {
    claims: _claims,
    drain: _drain,
    handles: _handles,
    maxTtl: _maxTtl,
    maxWaits: _maxWaits,
    pollInterval: _pollInterval,
    resultBytes: _resultBytes,
    ttl: _ttl,
    ...limits
  } = options
  return Layer.provide(layerStore(options), Memory.layer(limits))
}
