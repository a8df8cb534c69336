/**
 * The metrics of servers and clients: names, units and what they count.
 *
 * The four durations of operations and sessions are OpenTelemetry's semantic conventions for MCP (in development; read at the state of
 * November 2026, which builds on version 1.44.0). Those have no name for the others, which begin like them.
 */
import * as Metric from "effect/Metric"

/** What a metric is. `unit` is UCUM's, as OTLP wants it. */
export interface MetricInfo {
  readonly name: string
  readonly type: "histogram" | "gauge" | "counter"
  readonly unit: string
  readonly description: string
}

const seconds = (name: string, description: string): MetricInfo => ({ name, type: "histogram", unit: "s", description })
const gauge = (name: string, unit: string, description: string): MetricInfo => ({
  name,
  type: "gauge",
  unit,
  description
})
const counter = (name: string, unit: string, description: string): MetricInfo => ({
  name,
  type: "counter",
  unit,
  description
})

export const serverMetrics = {
  operation: seconds("mcp.server.operation.duration", "Time from the arrival of a request to its answer"),
  session: seconds("mcp.server.session.duration", "How long sessions lasted"),
  queued: seconds("mcp.server.queue.duration", "How long requests waited for a permit, those that did"),
  question: seconds("mcp.client.operation.duration", "Time from a request that is sent to its answer"),
  notifications: counter("mcp.server.notifications", "{notification}", "Notifications that arrived in sessions"),
  refusals: counter("mcp.server.refusals", "{refusal}", "Requests that were refused, by reason"),
  io: counter("mcp.server.io", "By", "Bytes of messages, by direction"),
  sessions: gauge("mcp.server.active_sessions", "{session}", "Sessions that are open"),
  active: gauge("mcp.server.active_requests", "{request}", "Requests that run"),
  pending: gauge("mcp.server.pending_requests", "{request}", "Requests that wait for a permit"),
  subscriptions: gauge("mcp.server.active_subscriptions", "{subscription}", "Subscriptions that are open"),
  questions: gauge("mcp.server.open_questions", "{question}", "Questions that wait for answers of clients"),
  backlog: gauge("mcp.server.backlog", "By", "Bytes that wait until clients read them"),
  unkept: gauge("mcp.server.event_store.lag", "By", "Bytes of events that the event store has not kept yet"),
  lostLeases: counter("mcp.server.node.lost_leases", "{lease}", "Leases that this node has lost to other nodes"),
  task: seconds("mcp.server.task.duration", "Time from the creation of a task to its end"),
  taskRun: seconds("mcp.server.task.run.duration", "How long runs of tasks took"),
  tasksCreated: counter("mcp.server.task.created", "{task}", "Tasks that were created"),
  taskRetries: counter("mcp.server.task.retries", "{run}", "Runs after one that recorded nothing new"),
  tasks: gauge("mcp.server.active_tasks", "{task}", "Tasks that run in this process, by state"),
  tasksParked: gauge("mcp.server.parked_tasks", "{task}", "Tasks of the store that no process runs, by state"),
  taskQuestions: gauge("mcp.server.task.open_questions", "{question}", "Questions of them that wait for answers")
} as const

export const clientMetrics = {
  operation: serverMetrics.question,
  question: serverMetrics.operation,
  session: seconds("mcp.client.session.duration", "How long connections lasted"),
  reconnects: counter("mcp.client.reconnects", "{reconnect}", "Lost connections that were replaced"),
  io: counter("mcp.client.io", "By", "Bytes of messages, by direction"),
  sessions: gauge("mcp.client.active_sessions", "{session}", "Connections that are open"),
  active: gauge("mcp.client.active_requests", "{request}", "Requests that wait for their answers")
} as const

/** All metrics, each name once. */
export const all: ReadonlyArray<MetricInfo> = [
  ...new Map(
    [...Object.values(serverMetrics), ...Object.values(clientMetrics)].map((info) => [info.name, info] as const)
  ).values()
]

const counters: ReadonlySet<string> = new Set(all.flatMap(({ name, type }) => (type === "counter" ? [name] : [])))

/**
 * Returns the name of a metric in Prometheus, before its dots become underscores: counters of this package end in `_total`. Names of other
 * metrics stay. The `metricNameMapper` of `PrometheusMetrics`.
 *
 * @example
 * ```ts
 * import { Telemetry } from "@effect-mcp/operate"
 * import { PrometheusMetrics } from "effect/observability"
 *
 * export const metrics = PrometheusMetrics.layerHttp({ metricNameMapper: Telemetry.prometheusName })
 * ```
 */
export const prometheusName = (name: string): string => (counters.has(name) ? `${name}_total` : name)

/** The bounds of all durations, in seconds: those of the semantic conventions. */
export const boundaries: ReadonlyArray<number> = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300]

export type Attributes = Readonly<Record<string, string>>

/** One series of a metric. Effect's exporters read the unit from the attribute `unit`. */
export const histogram = ({ description, name, unit }: MetricInfo, attributes: Attributes): Metric.Histogram<number> =>
  Metric.histogram(name, { description, boundaries, attributes: { ...attributes, unit } })

export const sum = ({ description, name, unit }: MetricInfo, attributes: Attributes): Metric.Counter<number> =>
  Metric.counter(name, { description, incremental: true, attributes: { ...attributes, unit } })

export const value = ({ description, name, unit }: MetricInfo, attributes: Attributes = {}): Metric.Gauge<number> =>
  Metric.gauge(name, { description, attributes: { ...attributes, unit } })
