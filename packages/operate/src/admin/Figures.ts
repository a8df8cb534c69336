/** Reduces a server's metrics to one figure each, for small charts. Series with the same name are added up. */
import type * as Context from "effect/Context"
import * as Metric from "effect/Metric"
import * as Schema from "effect/Schema"
import { all } from "../telemetry/Names.ts"

const Figure = Schema.Union([
  Schema.Struct({ type: Schema.Literals(["counter", "gauge"]), unit: Schema.String, value: Schema.Finite }),
  Schema.Struct({
    type: Schema.Literal("histogram"),
    unit: Schema.String,
    count: Schema.Finite,
    sum: Schema.Finite,
    /** Each bucket's upper bound, and the number of values up to that bound. */
    buckets: Schema.Array(Schema.Tuple([Schema.Finite, Schema.Finite]))
  })
])

/** Figures by their names in `Telemetry.metrics`. Empty if the server has no `Telemetry`. */
export const Figures = Schema.Struct({
  /** Milliseconds since 1970. */
  time: Schema.Finite,
  metrics: Schema.Record(Schema.String, Figure)
})
export type Figures = typeof Figures.Type

interface Sum {
  value: number
  count: number
  sum: number
  readonly buckets: Map<number, number>
}

const add = (to: Sum, { state, type }: Metric.Metric.Snapshot): void => {
  if (type === "Counter") to.value += Number(state.count)
  if (type === "Gauge") to.value += Number(state.value)
  if (type !== "Histogram") return
  to.count += state.count
  to.sum += state.sum
  for (const [bound, count] of state.buckets) to.buckets.set(bound, (to.buckets.get(bound) ?? 0) + count)
}

/** Reads the context's current metrics. */
export const read = (context: Context.Context<never>, time: number): Figures => {
  const sums = new Map<string, Sum>()
  for (const snapshot of Metric.snapshotUnsafe(context)) {
    const known = sums.get(snapshot.id) ?? { value: 0, count: 0, sum: 0, buckets: new Map<number, number>() }
    add(known, snapshot)
    sums.set(snapshot.id, known)
  }
  const metrics = all.flatMap(({ name, type, unit }) => {
    const found = sums.get(name)
    if (found === undefined) return []
    const { buckets, count, sum, value } = found
    return [[name, type === "histogram" ? { type, unit, count, sum, buckets: [...buckets] } : { type, unit, value }]]
  })
  return { time, metrics: Object.fromEntries(metrics) }
}
