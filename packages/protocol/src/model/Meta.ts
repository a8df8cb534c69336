/**
 * What every message may carry: `_meta`, a progress token, a page cursor.
 */
import * as Schema from "effect/Schema"
import { JsonObject, struct } from "./Shape.ts"

/** Free room for extensions; keys with a prefix belong to whoever owns the prefix. */
export const Meta = JsonObject
export type Meta = typeof Meta.Type

/** Chosen by the sender of a request, and unique among its requests in flight. */
export const ProgressToken = Schema.Union([Schema.String, Schema.Finite])
export type ProgressToken = typeof ProgressToken.Type

/** `_meta` of a request. */
export const RequestMeta = Schema.StructWithRest(Schema.Struct({ progressToken: Schema.optionalKey(ProgressToken) }), [
  Schema.Record(Schema.String, Schema.Unknown)
])
export type RequestMeta = typeof RequestMeta.Type

/** An opaque place in a list. The empty string is a cursor like any other. */
export const Cursor = Schema.String
export type Cursor = typeof Cursor.Type

/** Spread into the params of every request. */
export const requestFields = { _meta: Schema.optionalKey(RequestMeta) }
/** Spread into every notification, result and value that has free room. */
export const metaFields = { _meta: Schema.optionalKey(Meta) }
/** Spread into the results of lists. */
export const pageFields = { ...metaFields, nextCursor: Schema.optionalKey(Cursor) }
/** Spread into results that may be cached: hints of 2026-07-28, `ttlMs` in milliseconds. */
export const cacheFields = {
  ttlMs: Schema.optionalKey(Schema.Finite),
  cacheScope: Schema.optionalKey(Schema.Literals(["public", "private"]))
}

export const RequestParams = struct("RequestParams", requestFields)
export type RequestParams = typeof RequestParams.Type
export const NotificationParams = struct("NotificationParams", metaFields)
export type NotificationParams = typeof NotificationParams.Type
export const PaginatedParams = struct("PaginatedParams", { ...requestFields, cursor: Schema.optionalKey(Cursor) })
export type PaginatedParams = typeof PaginatedParams.Type
export const EmptyResult = struct("EmptyResult", metaFields)
export type EmptyResult = typeof EmptyResult.Type
