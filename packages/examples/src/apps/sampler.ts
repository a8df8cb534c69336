/**
 * Measures this process once per second, and remembers the last ten minutes.
 */
import { Clock, Context, Effect, Layer, Schedule } from "effect"
import { monitorEventLoopDelay } from "node:perf_hooks"
import type { Metric } from "./measurements.ts"

export interface Sample extends Readonly<Record<Metric, number>> {
  /** Seconds since the start. */
  readonly second: number
}

const kept = 600

export class Sampler extends Context.Service<
  Sampler,
  { readonly samples: () => ReadonlyArray<Sample> }
>()("examples/Sampler") {
  static readonly layer = Layer.effect(
    Sampler,
    Effect.gen(function* () {
      const start = yield* Clock.currentTimeMillis
      const delay = yield* Effect.acquireRelease(
        Effect.sync(() => {
          const histogram = monitorEventLoopDelay({ resolution: 10 })
          histogram.enable()
          return histogram
        }),
        (histogram) => Effect.sync(() => histogram.disable())
      )
      let samples: ReadonlyArray<Sample> = []
      let used = process.cpuUsage()
      const measure = Effect.map(Clock.currentTimeMillis, (now) => {
        const { system, user } = process.cpuUsage(used)
        used = process.cpuUsage()
        const sample = {
          second: Math.round((now - start) / 1000),
          memory: process.memoryUsage.rss() / 2 ** 20,
          cpu: (user + system) / 10_000,
          delay: Number.isNaN(delay.mean) ? 0 : delay.mean / 1e6
        }
        delay.reset()
        samples = [...samples, sample].slice(-kept)
      })
      yield* Effect.forkScoped(
        Effect.repeat(measure, Schedule.spaced("1 second")),
        { startImmediately: true }
      )
      return { samples: () => samples }
    })
  )
}
