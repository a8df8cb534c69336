/** The task methods of 2025-11-25, for their caller's tasks (basic/utilities/tasks). */
import * as Extensions from "@effect-mcp/core/Extensions"
import type { Caller, ExtensionRegistry } from "@effect-mcp/core/Extensions"
import { ClientInput } from "@effect-mcp/core/ClientInput"
import { EncodedResult } from "@effect-mcp/core/EncodedResult"
import { RequestContext, type RequestServices } from "@effect-mcp/core/RequestContext"
import * as McpError from "@effect-mcp/protocol/McpError"
import type { TaskCapabilities } from "@effect-mcp/protocol/Capabilities"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { CoreTasks } from "../extension/CoreTasks.ts"
import type { Task } from "../model/Task.ts"
import * as Wire2025 from "../model/Wire2025.ts"
import * as Destination from "./Destination.ts"
import { anonymous, callerOf, owner } from "./Owner.ts"
import { found, inRevision, resultOf, type Service, unknownTask } from "./Service.ts"

/** Number of tasks per list page. */
const pageSize = 50

/** Skips checking the result against the method's schema, because it was built to match, and tasks may be read often. */
const encoded = (wire: EncodedResult["wire"]): EncodedResult => EncodedResult.core("complete", wire)

interface Named {
  readonly taskId: string
}

const get = ({ routes, store }: Service, { taskId }: Named) =>
  Effect.gen(function* () {
    const caller = yield* owner(store)
    const task = yield* found(store.get(taskId, caller))
    const session = Destination.ofSession(yield* RequestContext)
    if (session !== undefined && Destination.canAskOneOf(session, task)) {
      // Lets a client that has returned in another session receive questions without calling `tasks/result`.
      yield* Effect.uninterruptible(routes.join(task, caller, session))
      routes.begin(taskId)
    }
    return encoded(Wire2025.write(task))
  })

const isEnded = ({ outcome }: Task): boolean => outcome !== undefined

/** Returns the original request's result unchanged, plus a link to its task. */
const result = (service: Service, { taskId }: Named) =>
  Effect.gen(function* () {
    const { store } = service
    const caller = yield* owner(store)
    const task = yield* found(store.get(taskId, caller))
    const { outcome } = isEnded(task) ? task : yield* endOf(service, task, caller)
    if (outcome === undefined) return yield* unknownTask
    const { revision } = yield* RequestContext
    const answer = yield* inRevision(yield* resultOf(outcome), revision)
    const { _meta } = answer
    return encoded({
      ...answer,
      _meta: { ...(typeof _meta === "object" ? _meta : undefined), ...Wire2025.related(taskId) }
    })
  })

/** Waits for a task to end, sending the task's messages on the current request. */
const endOf = ({ routes, store, waits }: Service, task: Task, owner: string) =>
  Effect.contextWith((context: Context.Context<RequestServices>) => {
    const { id } = task
    // Reads the task once more at its end, so that the store knows that its caller has seen it.
    const ended = Effect.andThen(
      Stream.runDrain(store.changes(id, owner)),
      found(Effect.map(store.get(id, owner), Option.filter(isEnded)))
    )
    const destination = Destination.ofRequest(Context.get(context, RequestContext), Context.get(context, ClientInput))
    return waits.hold(callerOf(owner, context), routes.during(task, owner, destination, ended))
  })

const list = ({ store }: Service, { cursor }: { readonly cursor?: string }) =>
  Effect.gen(function* () {
    const caller = yield* owner(store)
    // Anonymous callers' tasks cannot be distinguished, so a list would reveal all of them.
    if (caller === anonymous) return yield* McpError.methodNotFound(CoreTasks.requests.list.method)
    const page = yield* Effect.mapError(store.list(caller, cursor, pageSize), () =>
      McpError.invalidParams("Unknown cursor")
    )
    const { next, tasks } = page
    return { tasks: tasks.map(Wire2025.write), ...(next === undefined ? undefined : { nextCursor: next }) }
  })

/** A single write decides: whatever the handler does afterwards, the task stays cancelled. */
const cancel = ({ routes, store }: Service, { taskId }: Named) =>
  Effect.gen(function* () {
    const caller = yield* owner(store)
    const refuse = (task: Task) =>
      McpError.invalidParams(`Cannot cancel the task: it is already ${Wire2025.write(task).status}`)
    const before = yield* found(store.get(taskId, caller))
    if (isEnded(before)) return yield* refuse(before)
    routes.silence(taskId)
    const after = yield* found(store.cancel(taskId, caller))
    routes.ended(taskId)
    // It may have ended by itself in the meantime.
    return after.outcome?._tag === "Cancelled" ? Wire2025.write(after) : yield* refuse(after)
  })

/** Tasks can only be listed if the caller can be distinguished from other callers. */
const capabilities = ({ store }: Service, { duplex, principal }: Caller): TaskCapabilities =>
  principal.subject !== undefined || (duplex && !store.outlives) ? listed : unlisted

const unlisted: TaskCapabilities = { cancel: {}, requests: { tools: { call: {} } } }
const listed: TaskCapabilities = { list: {}, ...unlisted }

/** Declares the `tasks` capability in 2025-11-25. */
export const layer = (service: Service): Layer.Layer<never, never, ExtensionRegistry> =>
  Extensions.layer(CoreTasks, {
    settings: (caller) => capabilities(service, caller),
    rateLimit: service.rateLimit,
    requests: {
      get: (params) => get(service, params),
      result: (params) => result(service, params),
      list: (params) => list(service, params),
      cancel: (params) => cancel(service, params)
    }
  })
