/**
 * A tool that reads what this server measures about itself, shared by the
 * server and its view.
 */
import { Tool } from "@effect-mcp/core"
import { Schema } from "effect"

const Metric = Schema.Literals(["memory", "cpu", "delay"])
export type Metric = typeof Metric.Type

export const Measurements = Tool.make("measurements", {
  title: "Measurements of this server",
  description:
    "Memory, CPU time or delay of the event loop of this server, second by second",
  annotations: { readOnlyHint: true },
  input: {
    metric: Schema.optionalKey(Metric),
    /**
     * Seconds since the server started. By default, everything that it
     * remembers.
     */
    from: Schema.optionalKey(Schema.Finite),
    to: Schema.optionalKey(Schema.Finite)
  },
  output: {
    metric: Metric,
    unit: Schema.String,
    from: Schema.Finite,
    to: Schema.Finite,
    points: Schema.Array(
      Schema.Struct({ second: Schema.Finite, value: Schema.Finite })
    )
  }
})
