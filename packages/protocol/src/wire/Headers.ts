/**
 * Request metadata in HTTP headers (spec 2026-07-28: basic/transports/streamable-http#request-metadata). Creates the headers for a message
 * and checks them against the body.
 *
 * Defines the value syntax, including its base64 form. Header names are lowercase, as HTTP libraries provide them.
 */
import { excerpt } from "../Excerpt.ts"
import * as base64 from "../internal/base64.ts"
import { type HeaderParam, valueOf } from "./HeaderParam.ts"
import type { Notification, Request } from "./JsonRpc.ts"
import { protocolVersion } from "../model/Meta.ts"
import * as MethodInfo from "../model/MethodInfo.ts"
import { isJsonObject } from "../model/Shape.ts"

/** Header with the revision of an HTTP request. */
export const version = "mcp-protocol-version"
/** Header that repeats a request's method (2026-07-28). */
export const method = "mcp-method"
/** Header that repeats the name or URI in a request (2026-07-28). */
export const name = "mcp-name"
/** Prefix of headers that repeat tool arguments. */
export const paramPrefix = "mcp-param-"

export type Headers = { readonly [name: string]: string | undefined }

// RFC 9110: visible ASCII, space and tab, but no leading or trailing whitespace.
const plain = /^(?:[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?)?$/
const marked = /^=\?base64\?(.*)\?=$/s
const decimal = /^-?\d+(?:\.\d+)?$/

/**
 * Encodes a header value. Visible ASCII stays unchanged; everything else becomes marked base64 of its UTF-8 bytes.
 *
 * @example
 * ```ts
 * import { Headers } from "@effect-mcp/protocol"
 *
 * console.log(Headers.encode("notes.md"), Headers.encode("naïve"), Headers.decode(Headers.encode("naïve")))
 * // => notes.md =?base64?bmHDr3Zl?= naïve
 * ```
 */
export const encode = (value: string): string =>
  plain.test(value) && !(value.startsWith("=?base64?") && value.endsWith("?="))
    ? value
    : `=?base64?${base64.encodeText(value)}?=`

/** Decodes a header value and trims surrounding whitespace. Returns `undefined` for invalid characters or malformed base64. */
export const decode = (header: string): string | undefined => {
  const value = header.replaceAll(/^[\t ]+|[\t ]+$/g, "")
  if (!plain.test(value)) return undefined
  const [, encoded] = marked.exec(value) ?? []
  if (encoded === undefined) return value
  const text = base64.decodeText(encoded)
  if (text === undefined) return undefined
  // Invalid UTF-8 and non-canonical base64 don't encode to the same text again. Decoders remove a byte order mark.
  return [text, `\uFEFF${text}`].find((text) => base64.encodeText(text) === encoded)
}

/** Returns the param that the name header repeats, or `undefined` if the method has no such param. */
const nameParamOf = ({ method }: Request | Notification) => MethodInfo.ofRequest(method)?.nameParam

const textOf = (value: unknown): string | undefined =>
  typeof value === "string" || typeof value === "boolean" || typeof value === "number" ? `${value}` : undefined

/** Returns the headers for a call's arguments. An argument that is missing or null has no header. */
export const ofParams = (params: ReadonlyArray<HeaderParam>, args: unknown): { readonly [name: string]: string } =>
  Object.fromEntries(
    params.flatMap((param) => {
      const text = textOf(valueOf(param, args))
      return text === undefined ? [] : [[paramPrefix + param.name.toLowerCase(), encode(text)]]
    })
  )

/** Returns the headers for a message. `params` are the annotated arguments of the tool it calls. */
export const of = (
  message: Request | Notification,
  params: ReadonlyArray<HeaderParam> = []
): { readonly [name: string]: string } => {
  const meta = message.params?._meta
  const said = isJsonObject(meta) ? meta[protocolVersion] : undefined
  const nameParam = nameParamOf(message)
  const named = nameParam === undefined ? undefined : message.params?.[nameParam]
  return {
    ...(typeof said === "string" ? { [version]: said } : undefined),
    [method]: message.method,
    ...(typeof named === "string" ? { [name]: encode(named) } : undefined),
    ...ofParams(params, message.params?.arguments)
  }
}

const differs = (header: string, said: string, body: string): string =>
  `${header} is ${excerpt(JSON.stringify(said))}, but the body says ${excerpt(JSON.stringify(body))}`

/** Values that look the same encoded and unencoded: most versions, methods and names. */
const plainest = /^[A-Za-z0-9_./:-]+$/
/** True if header and body contain the same plain text. This is the fast path of `mismatch`. */
const isSame = (header: string | undefined, body: unknown): boolean =>
  header !== undefined && header === body && plainest.test(header)

/**
 * Describes how the standard headers differ from the request, or returns `undefined` if they match. A value missing from the body doesn't
 * count as a mismatch. For methods that MCP doesn't define, `own` returns the param that the name header repeats.
 */
export const mismatch = (
  headers: Headers,
  request: Request,
  own?: (method: string) => string | undefined
): string | undefined => {
  const meta = request.params?._meta
  const nameParam = nameParamOf(request) ?? own?.(request.method)
  const named = nameParam === undefined ? undefined : request.params?.[nameParam]
  if (
    isSame(headers[version], isJsonObject(meta) ? meta[protocolVersion] : undefined) &&
    isSame(headers[method], request.method) &&
    (nameParam === undefined || isSame(headers[name], named))
  ) {
    return undefined
  }
  const expected: ReadonlyArray<
    readonly [header: string, body: unknown, decode: (header: string) => string | undefined]
  > = [
    [version, isJsonObject(meta) ? meta[protocolVersion] : undefined, literal],
    [method, request.method, literal],
    ...(nameParam === undefined ? [] : ([[name, named, decode]] as const))
  ]
  for (const [header, body, read] of expected) {
    const value = headers[header]
    if (value === undefined) return `${header} is missing`
    const said = read(value)
    if (said === undefined) return `${header} is malformed`
    if (typeof body === "string" && said !== body) return differs(header, said, body)
  }
  return undefined
}

/** Returns a header value that isn't in base64 form. */
const literal = (header: string): string | undefined => {
  const value = header.replaceAll(/^[\t ]+|[\t ]+$/g, "")
  return plain.test(value) ? value : undefined
}

/** Describes how the argument headers differ from the call's arguments, or returns `undefined` if they match. */
export const paramMismatch = (
  headers: Headers,
  params: ReadonlyArray<HeaderParam>,
  args: unknown
): string | undefined => {
  for (const param of params) {
    const header = paramPrefix + param.name.toLowerCase()
    const given = headers[header]
    const said = given === undefined ? undefined : decode(given)
    const value = valueOf(param, args)
    const body = textOf(value)
    if (given !== undefined && said === undefined) return `${header} is malformed`
    if (value === undefined && given !== undefined) return `${header} is set, but the argument is missing`
    // An argument whose type cannot be a header is rejected by its schema instead.
    if (body === undefined) continue
    if (said === undefined) return `${header} is missing`
    const same =
      typeof value === "number"
        ? Number.isSafeInteger(value) && decimal.test(said) && Number(said) === value
        : said === body
    if (!same) return differs(header, said, body)
  }
  return undefined
}
