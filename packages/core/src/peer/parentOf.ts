/** Reads a message's trace context. Loaded together with the code that creates spans. */
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Context from "effect/Context"
import * as Tracer from "effect/Tracer"
import { Carried } from "./TraceContext.ts"

const pattern = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?$/
const maxCarried = 8192

const carriedOf = (meta: JsonObject): Carried["Service"] => {
  const { tracestate, baggage } = meta
  return {
    ...(typeof tracestate === "string" && tracestate.length <= maxCarried ? { tracestate } : undefined),
    ...(typeof baggage === "string" && baggage.length <= maxCarried ? { baggage } : undefined)
  }
}

/** Returns the other peer's span from `_meta` or the HTTP request headers, or `undefined` if there is no span. */
export const parentOf = (meta: JsonObject): Tracer.ExternalSpan | undefined => {
  const { traceparent } = meta
  const match = typeof traceparent === "string" ? pattern.exec(traceparent) : null
  const [, traceId = "", spanId = "", flags = ""] = match ?? []
  if (match === null || /^0+$/.test(traceId) || /^0+$/.test(spanId) || match[0].startsWith("ff")) return undefined
  return Tracer.externalSpan({
    traceId,
    spanId,
    sampled: (Number.parseInt(flags, 16) & 1) === 1,
    annotations: Context.make(Carried, carriedOf(meta))
  })
}
