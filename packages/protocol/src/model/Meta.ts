/**
 * What every message may carry: `_meta`, a progress token, a page cursor.
 */
import * as Schema from "effect/Schema"
import { isJsonObject, JsonObject, struct } from "./Shape.ts"

/** Free room for extensions; keys with a prefix belong to whoever owns the prefix. */
export const Meta = JsonObject
export type Meta = typeof Meta.Type

/** Keys of `_meta` since 2026-07-28: what a request declares, ... */
export const protocolVersion = "io.modelcontextprotocol/protocolVersion"
export const clientInfo = "io.modelcontextprotocol/clientInfo"
export const clientCapabilities = "io.modelcontextprotocol/clientCapabilities"
export const logLevel = "io.modelcontextprotocol/logLevel"
/** ... who answered, ... */
export const serverInfo = "io.modelcontextprotocol/serverInfo"
/** ... and the id of the `subscriptions/listen` request that a notification belongs to. */
export const subscriptionId = "io.modelcontextprotocol/subscriptionId"
/** Keys of OpenTelemetry: W3C Trace Context and W3C Baggage. */
export const traceparent = "traceparent"
export const tracestate = "tracestate"
export const baggage = "baggage"

const label = "[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
const name = "(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)?"
const keyFormat = new RegExp(`^(?:(${label}(?:\\.${label})*)/)?${name}$`)

/** Whether this can be a key of `_meta`: an optional prefix of labels with dots between and a slash, then a name. */
export const isKey = (key: string): boolean => keyFormat.test(key)
/** Whether this can name an extension: a key that has a prefix. */
export const isExtensionId = (key: string): boolean => keyFormat.exec(key)?.[1] !== undefined
/** Whether MCP keeps the key for itself: the second label of its prefix is `modelcontextprotocol` or `mcp`. */
export const isReserved = (key: string): boolean => {
  const second = keyFormat.exec(key)?.[1]?.split(".")[1]
  return second === "modelcontextprotocol" || second === "mcp"
}

/** The message with these entries in its `_meta`, next to those it has. */
export const withMeta = <M extends JsonObject>(message: M, entries: Meta): M & { readonly _meta: Meta } => ({
  ...message,
  _meta: isJsonObject(message["_meta"]) ? { ...message["_meta"], ...entries } : entries
})

/** Chosen by the sender of a request, and unique among its requests in flight. */
export const ProgressToken = Schema.Union([Schema.String, Schema.Int])
export type ProgressToken = typeof ProgressToken.Type

/** `_meta` of a request. */
export const RequestMeta = Schema.StructWithRest(Schema.Struct({ progressToken: Schema.optionalKey(ProgressToken) }), [
  Schema.Record(Schema.String, Schema.Unknown)
])
export type RequestMeta = typeof RequestMeta.Type

/** The id of a JSON-RPC request. */
export const RequestId = Schema.Union([Schema.String, Schema.Int])
export type RequestId = typeof RequestId.Type

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
/**
 * Answers to the questions of an `input_required` result, by the keys of the questions, each as its own method writes it.
 *
 * They are untrusted and unread: whoever asked knows by which codec to read the answer, and ignores those nobody asked for.
 */
export const InputResponses = Schema.Record(Schema.String, JsonObject)
export type InputResponses = typeof InputResponses.Type
/** Spread into the params of requests that may be answered `input_required` (2026-07-28). */
export const inputFields = {
  inputResponses: Schema.optionalKey(InputResponses),
  requestState: Schema.optionalKey(Schema.String)
}

export const RequestParams = struct("RequestParams", requestFields)
export type RequestParams = typeof RequestParams.Type
export const NotificationParams = struct("NotificationParams", metaFields)
export type NotificationParams = typeof NotificationParams.Type
export const PaginatedParams = struct("PaginatedParams", { ...requestFields, cursor: Schema.optionalKey(Cursor) })
export type PaginatedParams = typeof PaginatedParams.Type
export const EmptyResult = struct("EmptyResult", metaFields)
export type EmptyResult = typeof EmptyResult.Type
