/**
 * Calls of tools that outlive their request, at a server: a feature like any.
 *
 * A tool says by `task` that a call may or must become a task. Its handler does not change: as a task it runs in the scope of the server.
 * Its progress is the message of the task, and its questions are answered by requests of their own.
 */
import { registrationLayer } from "@effect-mcp/core/internal/registration"
import type { ExtensionRegistry } from "@effect-mcp/core/Extensions"
import { ToolRegistry } from "@effect-mcp/core/Tools"
import * as Detached from "@effect-mcp/server/Detached"
import { MiddlewareRegistry } from "@effect-mcp/server/Middleware"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Attempts from "./server/Attempts.ts"
import * as Creation from "./server/Creation.ts"
import * as CoreMethods from "./server/CoreMethods.ts"
import * as ListedTools from "./server/ListedTools.ts"
import * as Methods from "./server/Methods.ts"
import { makeService, type Options } from "./server/makeService.ts"
import type { Journal } from "./store/Journal.ts"
import * as Memory from "./store/memory.ts"
import type { TaskStore } from "./store/TaskStore.ts"

export { begin } from "./server/Begin.ts"
export { CoreTasks as core } from "./extension/CoreTasks.ts"
export { TasksExtension as extension } from "./extension/TasksExtension.ts"
export type { Options } from "./server/makeService.ts"

/**
 * Tasks in a store of your own: `layer` keeps them in memory, the modules `sqlite` and `postgres` in a database. Tasks that another process
 * left there are continued by the tools of this server.
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
      yield* Effect.forkIn(service.supervisor.resume(tools.taskTools, Attempts.again(service, executing)), scope)
      const calls = registrationLayer(MiddlewareRegistry, (registry, _services: Context.Context<never>) =>
        registry.register(Creation.middleware(service, executing), {
          method: "tools/call",
          innermost: true,
          when: Creation.mayBeTask(tools)
        })
      )
      const lists = registrationLayer(MiddlewareRegistry, (registry, _services: Context.Context<never>) =>
        registry.register(ListedTools.middleware(tools), { method: "tools/list", when: () => tools.mayNeedTask() })
      )
      return Layer.mergeAll(calls, lists, Methods.layer(service), CoreMethods.layer(service))
    })
  )

/**
 * Lets the server's tools with `task` answer with tasks, which live in the memory of this process and end with it: under 2026-07-28 to
 * clients that declare the extension `io.modelcontextprotocol/tasks`, under 2025-11-25 to calls with `task` in the params. To others a tool
 * with `task: "optional"` answers within the request, and one with `"required"` refuses the call and is not listed.
 *
 * A task belongs to its caller: a principal, else the connection, else (over HTTP without a principal) to all that know its id.
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
    maxTtl: _maxTtl,
    maxWaits: _maxWaits,
    pollInterval: _pollInterval,
    resultBytes: _resultBytes,
    ttl: _ttl,
    ...limits
  } = options
  return Layer.provide(layerStore(options), Memory.layer(limits))
}
