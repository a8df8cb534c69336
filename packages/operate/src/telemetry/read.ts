/** Series whose values are read only when metrics are exported. */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"

/** Registers a series for exporters to read, until the scope closes. */
export const read = <A>(metric: Metric.Metric<number, A>, context: Context.Context<never>, get: () => A) =>
  Effect.acquireRelease(
    Effect.sync(() => Metric.registerUnsafe(metric, context, { get, update: () => {}, modify: () => {} })),
    (registration) => Effect.sync(() => registration.remove())
  )
