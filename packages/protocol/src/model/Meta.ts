/** Fields that any message may have: `_meta`, a progress token, a page cursor (spec: basic/index#_meta). */
import * as Schema from "effect/Schema"
import { isJsonObject, JsonObject, struct } from "./Shape.ts"

/** Additional message fields. A key with a prefix belongs to the prefix's owner. */
export const Meta = JsonObject
export type Meta = typeof Meta.Type

/** The `_meta` key for a request's revision (2026-07-28). */
export const protocolVersion = "io.modelcontextprotocol/protocolVersion"
/** The `_meta` key for the client's name and version (2026-07-28). */
export const clientInfo = "io.modelcontextprotocol/clientInfo"
/** The `_meta` key for the client's capabilities (2026-07-28). */
export const clientCapabilities = "io.modelcontextprotocol/clientCapabilities"
/** The `_meta` key for a request's log level (2026-07-28). */
export const logLevel = "io.modelcontextprotocol/logLevel"
/** The `_meta` key for the server's name and version in results, since 2026-07-28. */
export const serverInfo = "io.modelcontextprotocol/serverInfo"
/** The `_meta` key for the ID of the `subscriptions/listen` request that a notification belongs to, since 2026-07-28. */
export const subscriptionId = "io.modelcontextprotocol/subscriptionId"
/** The `_meta` key for the task that a message belongs to, in 2025-11-25. */
export const relatedTask = "io.modelcontextprotocol/related-task"
/** The `_meta` key for the sender's trace and span (W3C Trace Context). */
export const traceparent = "traceparent"
/** The `_meta` key for the trace state (W3C Trace Context). */
export const tracestate = "tracestate"
/** The `_meta` key for trace baggage (W3C Baggage). */
export const baggage = "baggage"

const label = "[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
const name = "(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)?"
const keyFormat = new RegExp(`^(?:(${label}(?:\\.${label})*)/)?${name}$`)

/** True if the string is a valid `_meta` key: an optional prefix of dot-separated labels and a slash, followed by a name. */
export const isKey = (key: string): boolean => keyFormat.test(key)
/** True if the string is a valid extension ID: a key with a prefix. */
export const isExtensionId = (key: string): boolean => keyFormat.exec(key)?.[1] !== undefined
/** True if the key is reserved for MCP, because the second label of its prefix is `modelcontextprotocol` or `mcp`. */
export const isReserved = (key: string): boolean => {
  const second = keyFormat.exec(key)?.[1]?.split(".")[1]
  return second === "modelcontextprotocol" || second === "mcp"
}

/** Adds entries to the message's `_meta`. */
export const withMeta = <M extends JsonObject>(message: M, entries: Meta): M & { readonly _meta: Meta } => ({
  ...message,
  _meta: isJsonObject(message["_meta"]) ? { ...message["_meta"], ...entries } : entries
})

/** Identifies a request's progress notifications. The sender chooses it; it must be unique among the sender's requests in flight. */
export const ProgressToken = Schema.Union([Schema.String, Schema.Int])
export type ProgressToken = typeof ProgressToken.Type

/** A request's `_meta`. */
export const RequestMeta = Schema.StructWithRest(Schema.Struct({ progressToken: Schema.optionalKey(ProgressToken) }), [
  Schema.Record(Schema.String, Schema.Unknown)
])
export type RequestMeta = typeof RequestMeta.Type

/** A JSON-RPC request ID. */
export const RequestId = Schema.Union([Schema.String, Schema.Int])
export type RequestId = typeof RequestId.Type

/** An opaque position in a list. An empty string is a valid cursor. */
export const Cursor = Schema.String
export type Cursor = typeof Cursor.Type

/** Fields in the params of every request. */
export const requestFields = { _meta: Schema.optionalKey(RequestMeta) }
/** Fields of notifications, results and other values with `_meta`. */
export const metaFields = { _meta: Schema.optionalKey(Meta) }
/** Fields of list results. */
export const pageFields = { ...metaFields, nextCursor: Schema.optionalKey(Cursor) }
/** Caching hints in results, since 2026-07-28. `ttlMs` is in milliseconds. */
export const cacheFields = {
  ttlMs: Schema.optionalKey(Schema.Finite),
  cacheScope: Schema.optionalKey(Schema.Literals(["public", "private"]))
}
/**
 * Answers to the questions in an `input_required` result. They have the same keys as the questions, and each answer has the result format
 * of its method.
 *
 * The answers are untrusted and not decoded here. The code that asked decodes each answer with its method's codec and ignores unknown keys.
 */
export const InputResponses = Schema.Record(Schema.String, JsonObject)
export type InputResponses = typeof InputResponses.Type
/** Fields in the params of requests that may return `input_required` (2026-07-28). */
export const inputFields = {
  inputResponses: Schema.optionalKey(InputResponses),
  requestState: Schema.optionalKey(Schema.String)
}

/** Params of a request that has no specific params. */
export const RequestParams = struct("RequestParams", requestFields)
export type RequestParams = typeof RequestParams.Type
/** Params of a notification that has no specific params. */
export const NotificationParams = struct("NotificationParams", metaFields)
export type NotificationParams = typeof NotificationParams.Type
/** Params of a list request. Omit the cursor to request the first page. */
export const PaginatedParams = struct("PaginatedParams", { ...requestFields, cursor: Schema.optionalKey(Cursor) })
export type PaginatedParams = typeof PaginatedParams.Type
/** An empty result, which only acknowledges success. */
export const EmptyResult = struct("EmptyResult", metaFields)
export type EmptyResult = typeof EmptyResult.Type
