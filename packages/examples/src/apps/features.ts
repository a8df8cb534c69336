import { App } from "@effect-mcp/apps"
import { Tools } from "@effect-mcp/core"
import { Effect, Layer } from "effect"
import { Measurements } from "./measurements.ts"
import { Sampler } from "./sampler.ts"

const units = { memory: "MiB", cpu: "% of a core", delay: "ms" }

const measurements = Tools.layer(
  Measurements,
  ({ from = 0, metric = "memory", to = Infinity }) =>
    Effect.map(Sampler, (sampler) => {
      const chosen = sampler
        .samples()
        .filter(({ second }) => second >= from && second <= to)
      return {
        metric,
        unit: units[metric],
        from: chosen[0]?.second ?? 0,
        to: chosen.at(-1)?.second ?? 0,
        points: chosen.map((sample) => ({
          second: sample.second,
          value: sample[metric]
        }))
      }
    })
)

/**
 * The tool, and its view: the module `view.ts` becomes one page when the server
 * starts.
 */
export const features = Layer.merge(
  measurements,
  App.layer(Measurements, {
    bundle: new URL("./view.ts", import.meta.url),
    prefersBorder: true
  })
)
