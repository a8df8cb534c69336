/**
 * Trace context in `_meta`: `traceparent`, `tracestate` and `baggage` in the W3C's formats (spec 2026-07-28: basic; older revisions allow
 * any `_meta`).
 *
 * The parent of a request's span is read from them; the span of a sent request is written into it. A malformed `traceparent` is ignored.
 */
import type { Params } from "@effect-mcp/protocol/JsonRpc"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Context from "effect/Context"
import * as Tracer from "effect/Tracer"

/** The parts that are passed on unchanged, kept with the span of the other side. */
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

/** The entries for the `_meta` of a request that is sent within the current span; undefined outside of one. */
export const entries = (context: Context.Context<never>): JsonObject | undefined => {
  const span: Tracer.AnySpan | undefined = context.mapUnsafe.get(Tracer.ParentSpan.key)
  return span === undefined || !isWeb(span)
    ? undefined
    : { traceparent: `00-${span.traceId}-${span.spanId}-${span.sampled ? "01" : "00"}`, ...carriedBy(span) }
}

/**
 * The params of a message that is sent within the current span, which takes the place of the trace context of another message. They are
 * unchanged where there is nothing to write or to take out.
 */
export const withEntries = (params: Params | undefined, context: Context.Context<never>): Params | undefined => {
  const bare = withoutEntries(params)
  const trace = entries(context)
  return trace === undefined ? bare : { ...bare, _meta: { ...trace, ...metaOf(bare) } }
}

/** Without the trace context of another message. */
export const withoutEntries = (params: Params | undefined): Params | undefined => {
  if (params?._meta === undefined) return params
  const { traceparent: _, tracestate: __, baggage: ___, ..._meta } = metaOf(params)
  return { ...params, _meta }
}

/** The `_meta` of params; empty where they have none. */
export const metaOf = (params: Params | undefined): JsonObject => (isJsonObject(params?._meta) ? params._meta : {})

/** Whether a span's ids have the W3C's format; tracers may choose others. */
const isWeb = (span: Tracer.AnySpan): boolean =>
  /^[0-9a-f]{32}$/.test(span.traceId) && /^[0-9a-f]{16}$/.test(span.spanId)

/** Whether the program has provided a tracer. */
export const isTraced = (context: Context.Context<never>): boolean =>
  // Not the default tracer; and not by the map of the context, which may have to be made first.
  Context.getOrUndefined(context, Tracer.Tracer) !== undefined
