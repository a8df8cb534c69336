/** What `--metrics` and `--traces` add to a server. Spans are made and dropped: an exporter's work is not that of the server. */
import * as Telemetry from "@effect-mcp/operate/Telemetry"
import * as Layer from "effect/Layer"
import * as Tracer from "effect/Tracer"

export const metrics = Telemetry.layer()

export const traces = Layer.succeed(Tracer.Tracer, Tracer.make({ span: (options) => new Tracer.NativeSpan(options) }))
