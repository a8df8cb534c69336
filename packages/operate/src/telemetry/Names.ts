/**
 * Names, units and descriptions of server and client metrics.
 *
 * The four durations of operations and sessions follow OpenTelemetry's semantic conventions for MCP (in development, as of November 2026,
 * based on version 1.44.0). The conventions don't define the other metrics, so their names use the same prefix.
 */
import * as Metric from "effect/Metric"

/** A metric. `unit` is a UCUM unit, as OTLP requires. */
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
  operation: seconds("mcp.server.operation.duration", "Time from receiving a request to sending the response"),
  session: seconds("mcp.server.session.duration", "Session duration"),
  queued: seconds("mcp.server.queue.duration", "Time that queued requests waited for a permit"),
  question: seconds("mcp.client.operation.duration", "Time from sending a request to receiving the response"),
  notifications: counter("mcp.server.notifications", "{notification}", "Notifications received in sessions"),
  refusals: counter("mcp.server.refusals", "{refusal}", "Rejected requests, by reason"),
  io: counter("mcp.server.io", "By", "Message bytes, by direction"),
  sessions: gauge("mcp.server.active_sessions", "{session}", "Open sessions"),
  active: gauge("mcp.server.active_requests", "{request}", "Running requests"),
  pending: gauge("mcp.server.pending_requests", "{request}", "Requests waiting for a permit"),
  subscriptions: gauge("mcp.server.active_subscriptions", "{subscription}", "Open subscriptions"),
  questions: gauge("mcp.server.open_questions", "{question}", "Questions waiting for an answer from the client"),
  backlog: gauge("mcp.server.backlog", "By", "Bytes waiting for clients to read them"),
  unkept: gauge("mcp.server.event_store.lag", "By", "Event bytes that the event store has not saved yet"),
  lostLeases: counter("mcp.server.node.lost_leases", "{lease}", "Leases this node has lost to other nodes"),
  task: seconds("mcp.server.task.duration", "Time from creating a task to its end"),
  taskRun: seconds("mcp.server.task.run.duration", "Duration of task runs"),
  tasksCreated: counter("mcp.server.task.created", "{task}", "Tasks created"),
  taskRetries: counter("mcp.server.task.retries", "{run}", "Task runs that follow a run without progress"),
  tasks: gauge("mcp.server.active_tasks", "{task}", "Tasks running in this process, by state"),
  tasksParked: gauge("mcp.server.parked_tasks", "{task}", "Stored tasks that no process is running, by state"),
  taskQuestions: gauge("mcp.server.task.open_questions", "{question}", "Task questions waiting for an answer")
} as const

export const clientMetrics = {
  operation: serverMetrics.question,
  question: serverMetrics.operation,
  session: seconds("mcp.client.session.duration", "Connection duration"),
  reconnects: counter("mcp.client.reconnects", "{reconnect}", "Lost connections that were reopened"),
  io: counter("mcp.client.io", "By", "Message bytes, by direction"),
  sessions: gauge("mcp.client.active_sessions", "{session}", "Open connections"),
  active: gauge("mcp.client.active_requests", "{request}", "Requests waiting for a response")
} as const

/** All metrics, each name once. */
export const all: ReadonlyArray<MetricInfo> = [
  ...new Map(
    [...Object.values(serverMetrics), ...Object.values(clientMetrics)].map((info) => [info.name, info] as const)
  ).values()
]

const counters: ReadonlySet<string> = new Set(all.flatMap(({ name, type }) => (type === "counter" ? [name] : [])))

/**
 * Returns a metric's Prometheus name, before its dots become underscores. This package's counters end in `_total`; other names are
 * unchanged. Use it as the `metricNameMapper` option of `PrometheusMetrics`.
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

/** Bucket bounds for all durations in seconds, from the semantic conventions. */
export const boundaries: ReadonlyArray<number> = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300]

export type Attributes = Readonly<Record<string, string>>

/** Returns one series of a metric. Effect's exporters read the unit from the `unit` attribute. */
export const histogram = ({ description, name, unit }: MetricInfo, attributes: Attributes): Metric.Histogram<number> =>
  Metric.histogram(name, { description, boundaries, attributes: { ...attributes, unit } })

export const sum = ({ description, name, unit }: MetricInfo, attributes: Attributes): Metric.Counter<number> =>
  Metric.counter(name, { description, incremental: true, attributes: { ...attributes, unit } })

export const value = ({ description, name, unit }: MetricInfo, attributes: Attributes = {}): Metric.Gauge<number> =>
  Metric.gauge(name, { description, attributes: { ...attributes, unit } })
