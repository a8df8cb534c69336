/**
 * Trace context in `_meta`: `traceparent`, `tracestate` and `baggage` in W3C format (spec 2026-07-28: basic; older revisions allow anything
 * in `_meta`).
 *
 * The parent of a request's span is read from `_meta`, and a sent request's span is written to it. A malformed `traceparent` is ignored.
 */
import type { Params } from "@effect-mcp/protocol/JsonRpc"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Context from "effect/Context"
import * as Tracer from "effect/Tracer"

/** The parts that are forwarded unchanged, stored with the other peer's span. */
export class Carried extends Context.Service<Carried, { readonly tracestate?: string; readonly baggage?: string }>()(
  "@effect-mcp/core/TraceContext/Carried"
) {}

const carriedBy = (span: Tracer.AnySpan): Carried["Service"] => {
  for (let at: Tracer.AnySpan | undefined = span; at !== undefined; at = at._tag === "Span" ? parent(at) : undefined) {
    if (at._tag === "ExternalSpan") return Context.getOrUndefined(at.annotations, Carried) ?? {}
  }
  return {}
}
const parent = (span: Tracer.Span): Tracer.AnySpan | undefined =>
  span.parent._tag === "Some" ? span.parent.value : undefined

/** Returns `_meta` entries for a request sent within the current span, or `undefined` outside a span. */
export const entries = (context: Context.Context<never>): JsonObject | undefined => {
  const span: Tracer.AnySpan | undefined = context.mapUnsafe.get(Tracer.ParentSpan.key)
  return span === undefined || !isWeb(span)
    ? undefined
    : { traceparent: `00-${span.traceId}-${span.spanId}-${span.sampled ? "01" : "00"}`, ...carriedBy(span) }
}

/** Replaces the trace context in a message's params with the current span. Returns the same params if nothing has to be changed. */
export const withEntries = (params: Params | undefined, context: Context.Context<never>): Params | undefined => {
  const bare = withoutEntries(params)
  const trace = entries(context)
  return trace === undefined ? bare : { ...bare, _meta: { ...trace, ...metaOf(bare) } }
}

/** Removes the trace context from a forwarded message. */
export const withoutEntries = (params: Params | undefined): Params | undefined => {
  if (params?._meta === undefined) return params
  const { traceparent: _, tracestate: __, baggage: ___, ..._meta } = metaOf(params)
  return { ...params, _meta }
}

/** Returns the `_meta` of params, or an empty object. */
export const metaOf = (params: Params | undefined): JsonObject => (isJsonObject(params?._meta) ? params._meta : {})

/** True if a span's IDs have the W3C format. Tracers may use other formats. */
const isWeb = (span: Tracer.AnySpan): boolean =>
  /^[0-9a-f]{32}$/.test(span.traceId) && /^[0-9a-f]{16}$/.test(span.spanId)

/** True if the program has provided a tracer. */
export const isTraced = (context: Context.Context<never>): boolean =>
  // Excludes the default tracer, and avoids reading the context's map, which may have to be created first.
  Context.getOrUndefined(context, Tracer.Tracer) !== undefined
