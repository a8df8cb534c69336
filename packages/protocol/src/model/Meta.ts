/**
 * The fields that every message may have: `_meta`, a progress token, a page cursor (spec: basic/index#_meta).
 */
import * as Schema from "effect/Schema"
import { isJsonObject, JsonObject, struct } from "./Shape.ts"

/** Additional fields of a message; a key with a prefix belongs to the owner of the prefix. */
export const Meta = JsonObject
export type Meta = typeof Meta.Type

/** The key of `_meta` with the revision of a request (2026-07-28). */
export const protocolVersion = "io.modelcontextprotocol/protocolVersion"
/** The key of `_meta` with the name of the client (2026-07-28). */
export const clientInfo = "io.modelcontextprotocol/clientInfo"
/** The key of `_meta` with the capabilities of the client (2026-07-28). */
export const clientCapabilities = "io.modelcontextprotocol/clientCapabilities"
/** The key of `_meta` with the log level of a request (2026-07-28). */
export const logLevel = "io.modelcontextprotocol/logLevel"
/** The key of the server's implementation in results, since 2026-07-28. */
export const serverInfo = "io.modelcontextprotocol/serverInfo"
/** The key of the id of the `subscriptions/listen` request that a notification belongs to, since 2026-07-28. */
export const subscriptionId = "io.modelcontextprotocol/subscriptionId"
/** The key of the task that a message belongs to, in 2025-11-25. */
export const relatedTask = "io.modelcontextprotocol/related-task"
/** The key of `_meta` with the trace and the span of the sender (W3C Trace Context). */
export const traceparent = "traceparent"
/** The key of `_meta` with the state of a trace (W3C Trace Context). */
export const tracestate = "tracestate"
/** The key of `_meta` with the baggage of a trace (W3C Baggage). */
export const baggage = "baggage"

const label = "[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
const name = "(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)?"
const keyFormat = new RegExp(`^(?:(${label}(?:\\.${label})*)/)?${name}$`)

/** Whether a text can be a key of `_meta`: an optional prefix of labels with dots between and a slash, then a name. */
export const isKey = (key: string): boolean => keyFormat.test(key)
/** Whether a text can name an extension: a key with a prefix. */
export const isExtensionId = (key: string): boolean => keyFormat.exec(key)?.[1] !== undefined
/** Whether a key is reserved for MCP: the second label of its prefix is `modelcontextprotocol` or `mcp`. */
export const isReserved = (key: string): boolean => {
  const second = keyFormat.exec(key)?.[1]?.split(".")[1]
  return second === "modelcontextprotocol" || second === "mcp"
}

/** The message with these entries added to its `_meta`. */
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

/** An opaque position in a list. The empty string is a valid cursor. */
export const Cursor = Schema.String
export type Cursor = typeof Cursor.Type

/** The fields of the params of every request. */
export const requestFields = { _meta: Schema.optionalKey(RequestMeta) }
/** The fields of every notification, result and value with `_meta`. */
export const metaFields = { _meta: Schema.optionalKey(Meta) }
/** The fields of the results of lists. */
export const pageFields = { ...metaFields, nextCursor: Schema.optionalKey(Cursor) }
/** The caching hints of results since 2026-07-28; `ttlMs` is in milliseconds. */
export const cacheFields = {
  ttlMs: Schema.optionalKey(Schema.Finite),
  cacheScope: Schema.optionalKey(Schema.Literals(["public", "private"]))
}
/**
 * Answers to the questions of an `input_required` result, by the keys of the questions, each as its own method writes it.
 *
 * They are untrusted and not decoded here: the code that asked decodes each by the codec of its method, and ignores unknown keys.
 */
export const InputResponses = Schema.Record(Schema.String, JsonObject)
export type InputResponses = typeof InputResponses.Type
/** The fields of the params of requests whose result may be `input_required` (2026-07-28). */
export const inputFields = {
  inputResponses: Schema.optionalKey(InputResponses),
  requestState: Schema.optionalKey(Schema.String)
}

/** The params of a request that has none of its own. */
export const RequestParams = struct("RequestParams", requestFields)
export type RequestParams = typeof RequestParams.Type
/** The params of a notification that has none of its own. */
export const NotificationParams = struct("NotificationParams", metaFields)
export type NotificationParams = typeof NotificationParams.Type
/** The params of a list: the cursor of its page, none for the first. */
export const PaginatedParams = struct("PaginatedParams", { ...requestFields, cursor: Schema.optionalKey(Cursor) })
export type PaginatedParams = typeof PaginatedParams.Type
/** A result that says only that the request succeeded. */
export const EmptyResult = struct("EmptyResult", metaFields)
export type EmptyResult = typeof EmptyResult.Type
