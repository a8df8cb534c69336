/** Series whose values are read when metrics are exported: they cost nothing before. */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"

/** A series whose value is read by exporters, for as long as the scope. */
export const read = <A>(metric: Metric.Metric<number, A>, context: Context.Context<never>, get: () => A) =>
  Effect.acquireRelease(
    Effect.sync(() => Metric.registerUnsafe(metric, context, { get, update: () => {}, modify: () => {} })),
    (registration) => Effect.sync(() => registration.remove())
  )
