/**
 * JSON-RPC 2.0 messages: their types, their classification, and their text.
 *
 * Classification is plain code, since every message passes it; a property test compares it with a Schema. The codecs of a revision decode
 * params and results. Ids are compared, never tested for truthiness: `0` and `""` are ids.
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
/** The key of what HTTP says of an error. A symbol, so that it is never a part of the JSON. */
export const httpRefusal: unique symbol = Symbol.for("@effect-mcp/protocol/httpRefusal")

/** The status of an error over HTTP, where the response has not begun, and its `WWW-Authenticate`. */
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
/** `id` is null or absent where the id of the request could not be read. */
export interface Failure {
  readonly jsonrpc: "2.0"
  readonly id?: Id | null | undefined
  readonly error: ErrorObject
}
export type Response = Success | Failure
export type Message = Request | Notification | Response

/** The reason why a value is no JSON-RPC message, and its id if that is readable. A class, since a message may have any field. */
export class Invalid {
  readonly _tag = "Invalid"
  readonly reason: string
  readonly id: Id | undefined
  constructor(reason: string, id?: unknown) {
    this.reason = reason
    this.id = isId(id) ? id : undefined
  }
}

/** A result whose JSON text is known, which `encode` writes unchanged. It must be one JSON object. */
export class RawResult {
  readonly json: string
  constructor(json: string) {
    this.json = json
  }
}

/** Whether it is an id of MCP: a text or an integer, never null. */
export const isId = (u: unknown): u is Id => typeof u === "string" || Number.isSafeInteger(u)
/** Whether a message is a request: it has a method and an id. */
export const isRequest = (m: Message): m is Request => "method" in m && "id" in m
/** Whether a message is a notification: it has a method and no id. */
export const isNotification = (m: Message): m is Notification => "method" in m && !("id" in m)
/** Whether a message is a response: a result or an error. */
export const isResponse = (m: Message): m is Response => !("method" in m)
/** Whether it is a batch (2025-03-26), and not one message. */
export const isBatch = <M extends Message>(m: M | ReadonlyArray<M>): m is ReadonlyArray<M> => Array.isArray(m)

/** A request, without `params` where they are undefined. */
export const request = (id: Id, method: string, params?: Params): Request =>
  params === undefined ? { jsonrpc: "2.0", id, method } : { jsonrpc: "2.0", id, method, params }
/** A notification, without `params` where they are undefined. */
export const notification = (method: string, params?: Params): Notification =>
  params === undefined ? { jsonrpc: "2.0", method } : { jsonrpc: "2.0", method, params }
/** A response with a result. */
export const success = (id: Id, result: unknown): Success => ({ jsonrpc: "2.0", id, result })
/** `undefined` leaves the id out (2025-11-25 and later), `null` writes it (before). */
export const failure = (id: Id | null | undefined, error: ErrorObject): Failure => {
  const { code, message, data } = error
  const said = data === undefined ? { code, message } : { code, message, data }
  const refusal = error[httpRefusal]
  const plain = refusal === undefined ? said : { ...said, [httpRefusal]: refusal }
  return id === undefined ? { jsonrpc: "2.0", error: plain } : { jsonrpc: "2.0", id, error: plain }
}

const invalid = (reason: string, id?: unknown): Invalid => new Invalid(reason, id)

/* oxlint-disable typescript/no-unsafe-type-assertion -- the checks of `classify` are what makes its casts true */
/** The message that `u` is, the same object with its unknown fields, or why it is none. */
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

/** Whether a text was no message. */
export const isInvalid = (m: Message | Invalid): m is Invalid => m instanceof Invalid

/** One line of JSON, without the newline. Throws where a value has no JSON form. */
export const encode = (message: Message): string => {
  if (!("result" in message))
    return ("method" in message ? progressLine(message) : undefined) ?? oneLine(JSON.stringify(message))
  const { id, result } = message
  // In one piece: a text of parts is copied before it is written.
  if (isPlain(result)) return oneLine(JSON.stringify({ jsonrpc: "2.0", id, result }))
  // The types of JSON.stringify leave out that it gives nothing for undefined and functions.
  const text: string | undefined = result instanceof RawResult ? result.json : JSON.stringify(result)
  if (text === undefined) throw new TypeError("A result must be a JSON value")
  return `{"jsonrpc":"2.0","id":${oneLine(JSON.stringify(id))},"result":${oneLine(text)}}`
}

/** Whether JSON.stringify can write the result inside of the response: a plain object without `toJSON`. */
const isPlain = (result: unknown): boolean =>
  typeof result === "object" && result !== null && !(result instanceof RawResult) && !("toJSON" in result)
