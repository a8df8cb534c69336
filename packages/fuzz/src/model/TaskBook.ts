/** The tasks that a server mentioned in a conversation, in 2025-11-25 or with the extension. */
import { BoundedMap } from "@effect-mcp/core/internal/inFlight"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import type { ObservedExchange } from "./Exchange.ts"
import { at } from "./json.ts"

/** ID of the extension (2026-07-28). */
export const extension = "io.modelcontextprotocol/tasks"

/** The part of `_meta` that declares the extension. */
export const withTasks = { [Meta.clientCapabilities]: { elicitation: {}, extensions: { [extension]: {} } } }

const terminal: ReadonlySet<unknown> = new Set(["completed", "failed", "cancelled"])

export interface KnownTask {
  readonly id: string
  /** The tool that was called, or `undefined` if only a list named the task. */
  tool: string | undefined
  /** The first terminal status that the server reported. */
  ended: string | undefined
  /** The task's questions by key, as last reported (2026-07-28). */
  questions: JsonObject
}

/** The first client's tasks, as seen by a second client. */
export interface ForeignTasks {
  readonly tasks: TaskBook
  /** How the two clients relate: different principals, the same principal, or no credentials. */
  readonly callers: "different" | "same" | "anonymous"
}

/** Maximum number of tasks to keep, because observed traffic may last for days. */
const kept = 1000

/** Returns the task that a call became according to its result, or `undefined` if it became none. */
export const taskOfCall = ({ method, params }: ObservedExchange, result: unknown): unknown => {
  if (method !== "tools/call") return undefined
  if (at(result, "resultType") === "task") return result
  return at(params, "task") === undefined ? undefined : at(result, "task")
}

export class TaskBook {
  private lazyById: Map<string, KnownTask> | undefined

  private get byId(): Map<string, KnownTask> {
    return (this.lazyById ??= new BoundedMap(kept))
  }

  get(id: unknown): KnownTask | undefined {
    return typeof id === "string" ? this.lazyById?.get(id) : undefined
  }

  /** Ids of the tasks that this client's calls created. */
  get made(): ReadonlyArray<string> {
    return [...this.byId.values()].flatMap(({ id, tool }) => (tool === undefined ? [] : [id]))
  }

  /** Returns the task that a command refers to. */
  find(which: "newest" | "oldest" | "ended"): KnownTask | undefined {
    const all = [...this.byId.values()]
    if (which === "oldest") return all[0]
    return all.findLast(({ ended }) => which === "newest" || ended !== undefined)
  }

  /** Records the tasks in a result. */
  answered(exchange: ObservedExchange, result: unknown): void {
    const { method, params } = exchange
    const made = taskOfCall(exchange, result)
    if (made !== undefined) return this.told(made, at(params, "name"))
    if (method === "tasks/get" || method === "tasks/cancel") return this.told(result)
    const list = method === "tasks/list" ? at(result, "tasks") : undefined
    if (Array.isArray(list)) for (const task of list) this.told(task)
  }

  /** Records the server's description of a task. */
  told(task: unknown, tool?: unknown): void {
    const [id, status, questions] = [at(task, "taskId"), at(task, "status"), at(task, "inputRequests")]
    if (typeof id !== "string") return
    const known = this.byId.get(id) ?? { id, tool: undefined, ended: undefined, questions: {} }
    if (typeof tool === "string") known.tool = tool
    if (typeof status === "string" && terminal.has(status)) known.ended ??= status
    known.questions = isJsonObject(questions) ? questions : {}
    if (!this.byId.has(id)) this.byId.set(id, known)
  }
}
