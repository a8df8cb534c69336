/**
 * Calls that become tasks without a fiber of their request: the fast path of `Creation`.
 *
 * It is taken where nothing but tasks lies around the request, and the store need not wait. Then nothing comes between the creation and the
 * answer: no cancel, no end of the connection and no failure. So no finalizer has to end a task that its client does not know.
 */
import { exitOf, isDirect, now } from "@effect-mcp/core/internal/eager"
import * as Extension from "@effect-mcp/core/Extension"
import type { RequestFacts } from "@effect-mcp/core/RequestContext"
import type { ToolEntry } from "@effect-mcp/core/Tools"
import type { CallToolParams } from "@effect-mcp/protocol/model/Tool"
import type * as Middleware from "@effect-mcp/server/Middleware"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { CoreTasks } from "../extension/CoreTasks.ts"
import { TasksExtension } from "../extension/TasksExtension.ts"
import type { Task } from "../model/Task.ts"
import type { About } from "../run/Attempt.ts"
import type { Lease } from "../store/Journal.ts"
import * as Attempts from "./Attempts.ts"
import * as Creation from "./Creation.ts"
import type { Service } from "./Service.ts"

/** The form of the task that a call becomes as such; undefined for any other, which `Creation` answers. */
const formOf = (
  service: Service,
  params: CallToolParams,
  { beginsTask, taskAfter, tool }: ToolEntry,
  { clientCapabilities, revision }: RequestFacts
): Creation.TaskForm | undefined => {
  const support = tool.execution?.taskSupport ?? "forbidden"
  if (support === "forbidden") return undefined
  if (Extension.isIn(CoreTasks, revision)) {
    const asked = exitOf(Creation.taskOf(params))
    if (asked === undefined || Exit.isFailure(asked) || asked.value === undefined) return undefined
    return Creation.core(service, asked.value.ttl)
  }
  if (beginsTask === true || (taskAfter !== undefined && support !== "required")) return undefined
  return Extension.settingsIn(TasksExtension, revision, clientCapabilities) === undefined
    ? undefined
    : Creation.extension(service)
}

/** Starts the handler, and lets messages of the task leave once its client knows it. */
const begin = (
  service: Service,
  call: Middleware.Next,
  { session: sessionOf }: Creation.TaskForm,
  request: RequestFacts,
  task: Task,
  lease: Lease,
  about: About
): Exit.Exit<unknown> | undefined => {
  const { routes, store } = service
  const { owner } = about
  const { id } = task
  const session = sessionOf(request)
  const join = (): void => {
    if (session !== undefined) Effect.runSync(Creation.joining(service, task, owner, session, request))
  }
  const isDone = exitOf(call) !== undefined
  if (!isDone) join()
  const begun = exitOf(now(Attempts.begin(service, lease, about, call), Context.empty()))
  if (session === undefined) return begun
  // A handler that has ended when it was called reports and asks nothing: where its end is recorded, that alone is told.
  const last = isDone ? store.ended?.(id, owner) : undefined
  if (isDone && last === undefined) join()
  // Over HTTP the answer is on another stream than what the task says. A question has a write of its own: a client that reads both in one
  // piece may refuse it.
  routes.soon(id, last && { task: last, session }, last !== undefined && !request.isHttp)
  return begun
}

/** Answers calls that become tasks as such, by the facts of their requests: no service of these is made. */
export const answer =
  (service: Service, executing: Attempts.Executing): Middleware.AtOnce =>
  (request, facts) => {
    const { store, supervisor } = service
    if (!supervisor.isPlain || request.method !== "tools/call") return undefined
    const { params } = request
    const entry = executing.tools.find(params.name, facts.principal)
    const form = entry && formOf(service, params, entry, facts)
    if (form === undefined) return undefined
    const { client, owner, row } = Creation.askedBy(service, params, Creation.nothing, form.ttl, facts)
    const creating = store.create(row, supervisor.node)
    if (!isDirect(creating)) return undefined
    const created = exitOf(Effect.mapErrorEager(now(creating, Context.empty()), Creation.refusalOf))
    if (created === undefined) return Exit.die(new Error("A store that need not wait has not made a task at once"))
    if (Exit.isFailure(created)) return Exit.failCause(created.cause)
    const { lease, task } = created.value
    const about = { tool: params.name, owner, createdAt: task.createdAt, attempt: 1, client }
    const call = Attempts.execution(executing, params, client.facts.principal)
    const begun = begin(service, call, form, facts, task, lease, about)
    if (begun === undefined || Exit.isSuccess(begun)) return Exit.succeed(form.answer(task))
    Effect.runFork(Creation.abandoned(service, task.id, owner))
    return Exit.failCause(begun.cause)
  }
