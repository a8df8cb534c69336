/** The tasks that a server named in one conversation, of 2025-11-25 and of the extension. */
import * as Meta from "@effect-mcp/protocol/model/Meta"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import type { ObservedExchange } from "./Exchange.ts"
import { at } from "./json.ts"

/** The name of the extension of 2026-07-28. */
export const extension = "io.modelcontextprotocol/tasks"

/** The part of `_meta` that declares the extension. */
export const withTasks = { [Meta.clientCapabilities]: { elicitation: {}, extensions: { [extension]: {} } } }

const terminal: ReadonlySet<unknown> = new Set(["completed", "failed", "cancelled"])

export interface KnownTask {
  readonly id: string
  /** The tool whose call it is; undefined where only a list named it. */
  tool: string | undefined
  /** The terminal status that the server told first. */
  ended: string | undefined
  /** The keys of its questions and the questions themselves (2026-07-28), as they were told last. */
  questions: JsonObject
}

/** The tasks of the client that another one is beside. */
export interface ForeignTasks {
  readonly tasks: TaskBook
  /** How the two are told apart: they are different principals, one and the same, or neither has credentials. */
  readonly callers: "different" | "same" | "anonymous"
}

/** Tasks that are kept: a client that is observed may speak for days. */
const kept = 1000

/** The task that a call became, as its result says; undefined where the call became none. */
export const taskOfCall = ({ method, params }: ObservedExchange, result: unknown): unknown => {
  if (method !== "tools/call") return undefined
  if (at(result, "resultType") === "task") return result
  return at(params, "task") === undefined ? undefined : at(result, "task")
}

export class TaskBook {
  private lazyById: Map<string, KnownTask> | undefined

  private get byId(): Map<string, KnownTask> {
    return (this.lazyById ??= new Map())
  }

  get(id: unknown): KnownTask | undefined {
    return typeof id === "string" ? this.lazyById?.get(id) : undefined
  }

  /** The ids of tasks that calls of this client became. */
  get made(): ReadonlyArray<string> {
    return [...this.byId.values()].flatMap(({ id, tool }) => (tool === undefined ? [] : [id]))
  }

  /** The task that a command means. */
  find(which: "newest" | "oldest" | "ended"): KnownTask | undefined {
    const all = [...this.byId.values()]
    if (which === "oldest") return all[0]
    return all.findLast(({ ended }) => which === "newest" || ended !== undefined)
  }

  /** Takes over what a result says of tasks. */
  answered(exchange: ObservedExchange, result: unknown): void {
    const { method, params } = exchange
    const made = taskOfCall(exchange, result)
    if (made !== undefined) return this.told(made, at(params, "name"))
    if (method === "tasks/get" || method === "tasks/cancel") return this.told(result)
    const list = method === "tasks/list" ? at(result, "tasks") : undefined
    if (Array.isArray(list)) for (const task of list) this.told(task)
  }

  /** Takes over what is said of one task. */
  told(task: unknown, tool?: unknown): void {
    const [id, status, questions] = [at(task, "taskId"), at(task, "status"), at(task, "inputRequests")]
    if (typeof id !== "string") return
    const known = this.byId.get(id) ?? { id, tool: undefined, ended: undefined, questions: {} }
    if (typeof tool === "string") known.tool = tool
    if (typeof status === "string" && terminal.has(status)) known.ended ??= status
    known.questions = isJsonObject(questions) ? questions : {}
    this.byId.set(id, known)
    const [oldest] = this.byId.keys()
    if (this.byId.size > kept && oldest !== undefined) this.byId.delete(oldest)
  }
}
