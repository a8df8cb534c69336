/** Servers whose tasks or floods have one fault each. */
import { answers, call, error, instead, isRequest, type Mutant, ok, results, type Tap } from "./mutants.ts"

type Json = any

/** Changes the task that a call became. */
const made = (change: (task: Json) => Json) =>
  results("tools/call", (r) => (r.task === undefined ? r : { ...r, task: change(r.task) }))
const without = (method: string, field: string) => results(method, (r) => ({ ...r, [field]: undefined }))
const unknown = "fuzz-no-such-task"
const asks = (method: string, id: string) => (m: Json) => isRequest(method)(m) && m.params?.taskId === id
const working = (params: Json) => ({
  taskId: params.taskId,
  status: "working",
  createdAt: "2026-01-01T00:00:00Z",
  lastUpdatedAt: "2026-01-01T00:00:00Z",
  ttl: null,
  ttlMs: null
})

/** Changes the description of a task after reporting its end. */
const forgetful = (): Tap => {
  const ended = new Set<string>()
  return {
    out: (m, request) => {
      if (request?.method !== "tasks/get" || m.result === undefined) return [m]
      const { status, taskId } = m.result
      if (ended.has(taskId)) return [{ ...m, result: { ...m.result, status: "working" } }]
      if (status === "completed" || status === "failed" || status === "cancelled") ended.add(taskId)
      return [m]
    }
  }
}

/** Drops pings that arrive while many others are open. */
const overwhelmed = (): Tap => {
  let open = 0
  return {
    instead: (m) => {
      if (!isRequest("ping")(m)) return undefined
      return ++open > 20 ? [] : undefined
    },
    out: (m, request) => {
      if (request?.method === "ping") open--
      return [m]
    }
  }
}

const core: ReadonlyArray<Mutant> = [
  {
    name: "answers a task call with its result",
    finds: "task-created",
    tap: instead(
      (m) => call("must")(m) && m.params.task !== undefined,
      (m) => ok(m, { content: [] })
    )
  },
  { name: "uses numbers as ids", finds: "task-id-string", tap: made((task) => ({ ...task, taskId: 7 })) },
  {
    name: "creates tasks that have already ended",
    finds: "task-starts-working",
    tap: made((task) => ({ ...task, status: "completed" }))
  },
  {
    name: "invents a status",
    finds: "task-status-known",
    tap: results("tasks/get", (r) => ({ ...r, status: "running" }))
  },
  { name: "resumes an ended task", finds: "task-ended-stays", tap: forgetful },
  { name: "omits the creation time", finds: "task-created-at", tap: without("tasks/get", "createdAt") },
  {
    name: "omits the update time",
    finds: "task-last-updated-at",
    tap: made((t) => ({ ...t, lastUpdatedAt: 1 }))
  },
  { name: "omits the ttl", finds: "task-ttl", tap: without("tasks/get", "ttl") },
  { name: "sends no content", finds: "task-result-exact", tap: without("tasks/result", "content") },
  {
    name: "sends structured content of another type",
    finds: "task-result-exact",
    tap: results("tasks/result", (r) => (r.structuredContent === undefined ? r : { ...r, structuredContent: {} }))
  },
  {
    name: "does not relate results to their task",
    finds: "task-result-related",
    tap: without("tasks/result", "_meta")
  },
  {
    name: "cancels ended tasks",
    finds: "task-cancel-ended",
    tap: answers("tasks/cancel", (m, { params }) =>
      m.error === undefined ? m : ok(m, { ...working(params), status: "cancelled" })[0]
    )
  },
  {
    name: "reports a cancelled task as working",
    finds: "task-cancelled-first",
    tap: results("tasks/cancel", (r) => ({ ...r, status: "working" }))
  },
  {
    name: "returns any task",
    finds: "task-unknown tasks/get",
    tap: instead(asks("tasks/get", unknown), (m) => ok(m, working(m.params)))
  },
  {
    name: "has no method for an unknown task's result",
    finds: "task-unknown tasks/result",
    tap: instead(asks("tasks/result", unknown), (m) => error(m, -32601))
  },
  {
    name: "runs a task-only tool as a plain call",
    finds: "task-required",
    tap: instead(
      (m) => call("must")(m) && m.params.task === undefined,
      (m) => ok(m, { content: [] })
    )
  },
  {
    name: "creates tasks for any tool",
    finds: "task-forbidden",
    tap: instead(
      (m) => call("plain")(m) && m.params.task !== undefined,
      (m) => ok(m, { task: { ...working({ taskId: "t" }) } })
    )
  },
  { name: "drops requests in a flood", finds: "answer-always ping", messages: 30, tap: overwhelmed }
]

const revision = "2026-07-28" as const
const undeclared = (m: Json) =>
  m.params?._meta?.["io.modelcontextprotocol/clientCapabilities"]?.extensions === undefined
const complete = { resultType: "complete" }
const whenStatus = (status: string, field: string) =>
  results("tasks/get", (r) => (r.status === status ? { ...r, [field]: undefined } : r))

const extension: ReadonlyArray<Mutant> = [
  {
    name: "creates tasks for any client",
    finds: "task-undeclared",
    tap: instead(
      (m) => call("job")(m) && undeclared(m),
      (m) => ok(m, { ...working({ taskId: "t" }), resultType: "task" })
    )
  },
  { name: "sends tasks without a status", finds: "task-get-status", tap: without("tasks/get", "status") },
  { name: "withholds results", finds: "task-completed-result", tap: whenStatus("completed", "result") },
  { name: "withholds errors", finds: "task-failed-error", tap: whenStatus("failed", "error") },
  {
    name: "withholds questions",
    finds: "task-input-questions",
    tap: whenStatus("input_required", "inputRequests")
  },
  {
    name: "answers tasks/get with a created task",
    finds: "task-get-type",
    tap: results("tasks/get", (r) => ({ ...r, resultType: "task" }))
  },
  {
    name: "answers tasks/update with a task",
    finds: "task-update-type",
    tap: results("tasks/update", (r) => ({ ...r, resultType: "task" }))
  },
  {
    name: "answers tasks/cancel with a task",
    finds: "task-cancel-type",
    tap: results("tasks/cancel", (r) => ({ ...r, resultType: "task" }))
  },
  {
    name: "sends extra fields after an update",
    finds: "task-update-empty",
    tap: results("tasks/update", (r) => ({ ...r, status: "working" }))
  },
  {
    name: "sends extra fields after a cancellation",
    finds: "task-cancel-empty",
    tap: results("tasks/cancel", (r) => ({ ...r, status: "cancelled" }))
  },
  {
    name: "returns any extension task",
    finds: "task-unknown-get",
    tap: instead(
      (m) => asks("tasks/get", unknown)(m) && !undeclared(m),
      (m) => ok(m, { ...working(m.params), ...complete })
    )
  },
  {
    name: "cancels any task",
    finds: "task-unknown-others tasks/cancel",
    tap: instead(
      (m) => asks("tasks/cancel", unknown)(m) && !undeclared(m),
      (m) => ok(m, complete)
    )
  },
  {
    name: "does not require the extension",
    finds: "task-needs-extension",
    tap: answers("tasks/get", (m) => (m.error?.code === -32021 ? error(m, -32602)[0] : m))
  },
  {
    name: "creates tasks without an id",
    finds: "task-has-fields",
    tap: results("tools/call", (r) => (r.resultType === "task" ? { ...r, taskId: undefined } : r))
  },
  { name: "resumes an ended extension task", finds: "task-stays-ended", tap: forgetful }
].map((mutant) => ({ ...mutant, revision }))

export const taskMutants: ReadonlyArray<Mutant> = [...core, ...extension]
