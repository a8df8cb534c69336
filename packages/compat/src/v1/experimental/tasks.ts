/**
 * `@modelcontextprotocol/sdk/experimental/tasks`: tools that run as tasks in a store.
 *
 * A call of such a tool waits for its task and is answered with the task's result, in every revision. Clients see an ordinary tool: the
 * server declares no tasks and answers none of the task methods.
 */
import { randomUUID } from "node:crypto"
import { setTimeout as sleep } from "node:timers/promises"
import type { CallToolResult, JsonObject, Request, RequestId } from "../../model/types.ts"
import type { ServerContext } from "../../request/ServerContext.ts"
import type { AnySchema, Output } from "../../schema/schemas.ts"
import type { RegisteredTool, ToolConfig } from "../../server/features.ts"

type Async<A> = A | PromiseLike<A>

export interface Task {
  taskId: string
  status: "working" | "input_required" | "completed" | "failed" | "cancelled"
  statusMessage?: string | undefined
  createdAt: string
  lastUpdatedAt: string
  /** In milliseconds. `null` keeps the task until the process ends. */
  ttl: number | null
  /** In milliseconds. */
  pollInterval?: number | undefined
}

export interface CreateTaskOptions {
  ttl?: number | null | undefined
  pollInterval?: number | undefined
  context?: JsonObject | undefined
}

export interface CreateTaskResult {
  task: Task
}

/** Stores tasks and their results. */
export interface TaskStore {
  createTask(params: CreateTaskOptions, requestId: RequestId, request: Request, sessionId?: string): Promise<Task>
  getTask(taskId: string, sessionId?: string): Promise<Task | null>
  storeTaskResult(taskId: string, status: "completed" | "failed", result: object, sessionId?: string): Promise<void>
  getTaskResult(taskId: string, sessionId?: string): Promise<object>
  updateTaskStatus(taskId: string, status: Task["status"], statusMessage?: string, sessionId?: string): Promise<void>
  listTasks(cursor?: string, sessionId?: string): Promise<{ tasks: Array<Task>; nextCursor?: string | undefined }>
}

/** A store limited to the session of a request. */
export interface RequestTaskStore {
  createTask(params: CreateTaskOptions): Promise<Task>
  getTask(taskId: string): Promise<Task>
  storeTaskResult(taskId: string, status: "completed" | "failed", result: object): Promise<void>
  getTaskResult(taskId: string): Promise<object>
  updateTaskStatus(taskId: string, status: Task["status"], statusMessage?: string): Promise<void>
  listTasks(cursor?: string): Promise<{ tasks: Array<Task>; nextCursor?: string | undefined }>
}

export interface CreateTaskRequestHandlerExtra extends ServerContext {
  taskStore: RequestTaskStore
}
export interface TaskRequestHandlerExtra extends CreateTaskRequestHandlerExtra {
  taskId: string
}

type Handler<I, C, A> = I extends AnySchema ? (args: Output<I>, extra: C) => Async<A> : (extra: C) => Async<A>

/** Handlers of a tool that runs as a task. */
export interface ToolTaskHandler<I = undefined> {
  createTask: Handler<I, CreateTaskRequestHandlerExtra, CreateTaskResult>
  /** Not called: the task is read from the store, as the SDK does for calls without a task. */
  getTask: Handler<I, TaskRequestHandlerExtra, Task>
  /** Not called either. */
  getTaskResult: Handler<I, TaskRequestHandlerExtra, CallToolResult>
}

/** True if a task has ended. */
export const isTerminal = (status: Task["status"]): boolean =>
  status === "completed" || status === "failed" || status === "cancelled"

/** A task in memory. */
interface Held {
  task: Task
  readonly sessionId: string | undefined
  result: object | undefined
  readonly expiry: NodeJS.Timeout | undefined
}

/** Keeps tasks in memory, each for its `ttl`. */
export class InMemoryTaskStore implements TaskStore {
  readonly #held = new Map<string, Held>()

  #find(taskId: string, sessionId: string | undefined): Held | undefined {
    const held = this.#held.get(taskId)
    const isOther = sessionId !== undefined && held?.sessionId !== undefined && held.sessionId !== sessionId
    return isOther ? undefined : held
  }

  #open(taskId: string, sessionId: string | undefined): Held {
    const held = this.#find(taskId, sessionId)
    if (held === undefined) throw new Error(`Task ${taskId} not found. It may have expired`)
    if (!isTerminal(held.task.status)) return held
    throw new Error(`Cannot update task ${taskId}: it is already ${held.task.status}`)
  }

  async createTask(
    { pollInterval = 1000, ttl = null }: CreateTaskOptions,
    _requestId: RequestId,
    _request: Request,
    sessionId?: string
  ): Promise<Task> {
    const taskId = randomUUID()
    const now = new Date().toISOString()
    const task: Task = { taskId, status: "working", createdAt: now, lastUpdatedAt: now, ttl, pollInterval }
    const expiry = ttl === null ? undefined : setTimeout(() => this.#held.delete(taskId), ttl).unref()
    this.#held.set(taskId, { task, sessionId, result: undefined, expiry })
    return { ...task }
  }

  async getTask(taskId: string, sessionId?: string): Promise<Task | null> {
    const held = this.#find(taskId, sessionId)
    return held === undefined ? null : { ...held.task }
  }

  async storeTaskResult(
    taskId: string,
    status: "completed" | "failed",
    result: object,
    sessionId?: string
  ): Promise<void> {
    const held = this.#open(taskId, sessionId)
    held.result = result
    held.task = { ...held.task, status, lastUpdatedAt: new Date().toISOString() }
  }

  async getTaskResult(taskId: string, sessionId?: string): Promise<object> {
    const held = this.#find(taskId, sessionId)
    if (held === undefined) throw new Error(`Task ${taskId} not found. It may have expired`)
    const { result, task } = held
    if (result !== undefined) return result
    throw new Error(`Task ${taskId} has no result; its status is ${task.status}${told(task)}`)
  }

  async updateTaskStatus(
    taskId: string,
    status: Task["status"],
    statusMessage?: string,
    sessionId?: string
  ): Promise<void> {
    const held = this.#open(taskId, sessionId)
    held.task = { ...held.task, status, statusMessage, lastUpdatedAt: new Date().toISOString() }
  }

  async listTasks(_cursor?: string, sessionId?: string): Promise<{ tasks: Array<Task> }> {
    return { tasks: this.getAllTasks().filter(({ taskId }) => this.#find(taskId, sessionId) !== undefined) }
  }

  /** Deletes all tasks. */
  cleanup(): void {
    for (const { expiry } of this.#held.values()) clearTimeout(expiry)
    this.#held.clear()
  }

  getAllTasks(): Array<Task> {
    return [...this.#held.values()].map(({ task }) => ({ ...task }))
  }
}

const told = ({ statusMessage }: Task): string => (statusMessage === undefined ? "" : `: ${statusMessage}`)

/** Accepted by `McpServer`, which sends a task's questions at once: this library queues nothing. */
export class InMemoryTaskMessageQueue {
  readonly #queues = new Map<string, Array<unknown>>()

  async enqueue(taskId: string, message: unknown, _sessionId?: string, maxSize = Infinity): Promise<void> {
    const queue = this.#queues.get(taskId) ?? []
    if (queue.length >= maxSize) throw new Error(`The message queue of task ${taskId} is full (${maxSize} messages)`)
    this.#queues.set(taskId, [...queue, message])
  }

  async dequeue(taskId: string): Promise<unknown> {
    return this.#queues.get(taskId)?.shift()
  }

  async dequeueAll(taskId: string): Promise<Array<unknown>> {
    const queue = this.#queues.get(taskId) ?? []
    this.#queues.delete(taskId)
    return queue
  }
}

const storeOf = (store: TaskStore, { mcpReq: { id, method }, sessionId }: ServerContext): RequestTaskStore => ({
  createTask: (params) => store.createTask(params, id, { method }, sessionId),
  getTask: async (taskId) => {
    const task = await store.getTask(taskId, sessionId)
    if (task === null) throw new Error(`Task ${taskId} not found. It may have expired`)
    return task
  },
  storeTaskResult: (taskId, status, result) => store.storeTaskResult(taskId, status, result, sessionId),
  getTaskResult: (taskId) => store.getTaskResult(taskId, sessionId),
  updateTaskStatus: (taskId, status, message) => store.updateTaskStatus(taskId, status, message, sessionId),
  listTasks: (cursor) => store.listTasks(cursor, sessionId)
})

/** Milliseconds between reads of a task, if its handler does not set an interval. */
const defaultPollInterval = 1000

/** Waits for a task to end and returns its result. Cancelling the call cancels the task. */
const resultOf = async (store: RequestTaskStore, created: Task, signal: AbortSignal): Promise<object> => {
  const { pollInterval = defaultPollInterval, taskId } = created
  const cancel = () => void store.updateTaskStatus(taskId, "cancelled").catch(() => undefined)
  signal.addEventListener("abort", cancel, { once: true })
  try {
    while (!isTerminal((await store.getTask(taskId)).status)) await sleep(pollInterval, undefined, { signal })
    return await store.getTaskResult(taskId)
  } finally {
    signal.removeEventListener("abort", cancel)
  }
}

/** Configuration of a tool that runs as a task. */
export interface ToolTaskConfig<I, O> extends ToolConfig<I, O> {
  /** Accepted and ignored: clients call the tool like any other. */
  execution?: { taskSupport?: "optional" | "required" | undefined } | undefined
}

type Create = (...args: ReadonlyArray<never>) => Async<CreateTaskResult>

/** Registers a tool. */
type Register = (
  name: string,
  config: ToolConfig<AnySchema | undefined, AnySchema | undefined>,
  // oxlint-disable-next-line typescript/no-explicit-any -- the schema in the configuration types its arguments
  callback: (...args: Array<any>) => Promise<CallToolResult>
) => RegisteredTool

/** A server's `experimental.tasks`. */
export class ExperimentalMcpServerTasks {
  readonly #register: Register
  readonly #store: TaskStore | undefined

  constructor(register: Register, store: TaskStore | undefined) {
    this.#register = register
    this.#store = store
  }

  /** Registers a tool whose handler creates a task. Its calls wait for the task's result. */
  registerToolTask<
    const I extends AnySchema | undefined = undefined,
    const O extends AnySchema | undefined = undefined
  >(
    name: string,
    { execution: _ignored, ...config }: ToolTaskConfig<I, O>,
    handler: ToolTaskHandler<I>
  ): RegisteredTool {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the schema beside it types its arguments
    const create = handler.createTask as Create
    return this.#register(name, config, async (...given: ReadonlyArray<unknown>) => {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the context is the last argument of every handler
      const context = given.at(-1) as ServerContext
      if (this.#store === undefined) {
        throw new Error(
          `Tool ${name} runs as a task, but the server has no taskStore. Pass one in the server's options`
        )
      }
      const taskStore = storeOf(this.#store, context)
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as above
      const args = [...given.slice(0, -1), { ...context, taskStore }] as Array<never>
      const { task } = await create(...args)
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the codec of tools/call checks what was stored
      return (await resultOf(taskStore, task, context.signal)) as CallToolResult
    })
  }
}
