/**
 * JSON-RPC 2.0 messages: types, classification and serialization.
 *
 * Classification is handwritten because every message goes through it; a property test compares it with a Schema. Params and results are
 * decoded later, by the codecs of a revision. Never test an ID for truthiness: `0` and `""` are valid IDs.
 */
import { isJsonObject } from "../internal/JsonObject.ts"
import { oneLine, progressLine } from "./JsonLine.ts"

export type Id = string | number
export type Params = { readonly [key: string]: unknown }

export interface Request {
  readonly jsonrpc: "2.0"
  readonly id: Id
  readonly method: string
  readonly params?: Params | undefined
}
export interface Notification {
  readonly jsonrpc: "2.0"
  readonly method: string
  readonly params?: Params | undefined
}
export interface Success {
  readonly jsonrpc: "2.0"
  readonly id: Id
  readonly result: unknown
}
/** The key for an error's HTTP status. It is a symbol, so it never becomes part of the JSON. */
export const httpRefusal: unique symbol = Symbol.for("@effect-mcp/protocol/httpRefusal")

/** HTTP status and `WWW-Authenticate` header for an error. Used unless the response has already started. */
export interface HttpRefusal {
  readonly status: 401 | 403
  readonly challenge: string | undefined
}

export interface ErrorObject {
  readonly code: number
  readonly message: string
  readonly data?: unknown
  readonly [httpRefusal]?: HttpRefusal | undefined
}
/** An error response. `id` is null or absent if the request's ID could not be read. */
export interface Failure {
  readonly jsonrpc: "2.0"
  readonly id?: Id | null | undefined
  readonly error: ErrorObject
}
export type Response = Success | Failure
export type Message = Request | Notification | Response

/** The reason why a value is not a JSON-RPC message, and its ID if it could be read. A class, because a message may have any field. */
export class Invalid {
  readonly _tag = "Invalid"
  readonly reason: string
  readonly id: Id | undefined
  constructor(reason: string, id?: unknown) {
    this.reason = reason
    this.id = isId(id) ? id : undefined
  }
}

/** A result that is already JSON text, which `encode` writes unchanged. The text must be a single JSON object. */
export class RawResult {
  readonly json: string
  constructor(json: string) {
    this.json = json
  }
}

/** True for a valid MCP ID: a string or an integer, never null. */
export const isId = (u: unknown): u is Id => typeof u === "string" || Number.isSafeInteger(u)
/** True if a message is a request: it has a method and an ID. */
export const isRequest = (m: Message): m is Request => "method" in m && "id" in m
/** True if a message is a notification: it has a method but no ID. */
export const isNotification = (m: Message): m is Notification => "method" in m && !("id" in m)
/** True if a message is a response: a result or an error. */
export const isResponse = (m: Message): m is Response => !("method" in m)
/** True for a batch (2025-03-26) instead of a single message. */
export const isBatch = <M extends Message>(m: M | ReadonlyArray<M>): m is ReadonlyArray<M> => Array.isArray(m)

/** Creates a request. Omits `params` if it is undefined. */
export const request = (id: Id, method: string, params?: Params): Request =>
  params === undefined ? { jsonrpc: "2.0", id, method } : { jsonrpc: "2.0", id, method, params }
/** Creates a notification. Omits `params` if it is undefined. */
export const notification = (method: string, params?: Params): Notification =>
  params === undefined ? { jsonrpc: "2.0", method } : { jsonrpc: "2.0", method, params }
/** Creates a successful response. */
export const success = (id: Id, result: unknown): Success => ({ jsonrpc: "2.0", id, result })
/**
 * Creates an error response. If the request's ID is unknown, pass `undefined` to omit the ID (since 2025-11-25) or `null` to send null
 * (before).
 */
export const failure = (id: Id | null | undefined, error: ErrorObject): Failure => {
  const { code, message, data } = error
  const said = data === undefined ? { code, message } : { code, message, data }
  const refusal = error[httpRefusal]
  const plain = refusal === undefined ? said : { ...said, [httpRefusal]: refusal }
  return id === undefined ? { jsonrpc: "2.0", error: plain } : { jsonrpc: "2.0", id, error: plain }
}

const invalid = (reason: string, id?: unknown): Invalid => new Invalid(reason, id)

/* oxlint-disable typescript/no-unsafe-type-assertion -- the checks of `classify` are what makes its casts true */
/** Returns `u` as a message, or the reason why it isn't one. A message is the same object and keeps unknown fields. */
export const classify = (u: unknown): Message | Invalid => {
  const message = u
  if (!isJsonObject(u)) return invalid("A message must be a JSON object")
  if (u.jsonrpc !== "2.0") return invalid(`"jsonrpc" must be "2.0"`, u.id)
  if ("method" in u) {
    if (typeof u.method !== "string") return invalid(`"method" must be a string`, u.id)
    if ("params" in u && !isJsonObject(u.params)) return invalid(`"params" must be an object`, u.id)
    if (!("id" in u)) return message as Notification
    return isId(u.id) ? (message as Request) : invalid(`"id" must be a string or an integer`)
  }
  if ("error" in u) {
    if ("result" in u) return invalid(`A response has "result" or "error", never both`, u.id)
    if (!isJsonObject(u.error) || !Number.isInteger(u.error.code) || typeof u.error.message !== "string") {
      return invalid(`"error" must have an integer "code" and a string "message"`, u.id)
    }
    if (u.id !== undefined && u.id !== null && !isId(u.id)) return invalid(`"id" must be a string or an integer`)
    return message as Failure
  }
  if (!("result" in u)) return invalid(`A message needs "method", "result" or "error"`, u.id)
  return isId(u.id) ? (message as Success) : invalid(`"id" must be a string or an integer`)
}
/* oxlint-enable typescript/no-unsafe-type-assertion */

/** True if the input was not a message. */
export const isInvalid = (m: Message | Invalid): m is Invalid => m instanceof Invalid

/** Serializes a message as one line of JSON, without the newline. Throws if a value cannot be expressed in JSON. */
export const encode = (message: Message): string => {
  if (!("result" in message))
    return ("method" in message ? progressLine(message) : undefined) ?? oneLine(JSON.stringify(message))
  const { id, result } = message
  // In one piece, because a concatenated string is copied before it is written.
  if (isPlain(result)) return oneLine(JSON.stringify({ jsonrpc: "2.0", id, result }))
  // The types of JSON.stringify don't mention that it returns undefined for undefined and functions.
  const text: string | undefined = result instanceof RawResult ? result.json : JSON.stringify(result)
  if (text === undefined) throw new TypeError("A result must be a JSON value")
  return `{"jsonrpc":"2.0","id":${oneLine(JSON.stringify(id))},"result":${oneLine(text)}}`
}

/** True if JSON.stringify can serialize the result as part of the response: a plain object without `toJSON`. */
const isPlain = (result: unknown): boolean =>
  typeof result === "object" && result !== null && !(result instanceof RawResult) && !("toJSON" in result)
