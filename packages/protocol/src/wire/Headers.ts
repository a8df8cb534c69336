/**
 * Request metadata in HTTP headers (spec 2026-07-28: basic/transports/streamable-http#request-metadata): the headers that mirror a
 * message, and their comparison with the body.
 *
 * Owns the grammar of values, with its Base64 form. Header names are lower-case, as HTTP libraries give them.
 */
import { excerpt } from "../Excerpt.ts"
import * as base64 from "../internal/base64.ts"
import { type HeaderParam, valueOf } from "./HeaderParam.ts"
import type { Notification, Request } from "./JsonRpc.ts"
import { protocolVersion } from "../model/Meta.ts"
import * as MethodInfo from "../model/MethodInfo.ts"
import { isJsonObject } from "../model/Shape.ts"

/** The header with the revision of a request over HTTP. */
export const version = "mcp-protocol-version"
/** The header that repeats the method of a request (2026-07-28). */
export const method = "mcp-method"
/** The header that repeats the name or URI of a request (2026-07-28). */
export const name = "mcp-name"
/** The prefix of the headers of arguments. */
export const paramPrefix = "mcp-param-"

export type Headers = { readonly [name: string]: string | undefined }

// RFC 9110: visible ASCII, space and tab; none of the two at the ends.
const plain = /^(?:[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?)?$/
const marked = /^=\?base64\?(.*)\?=$/s
const decimal = /^-?\d+(?:\.\d+)?$/

/**
 * A value in a header: unchanged where it is visible ASCII, else the Base64 of its UTF-8 between marks.
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

/** The value of a header, without white space around it; `undefined` for invalid characters or broken Base64. */
export const decode = (header: string): string | undefined => {
  const value = header.replaceAll(/^[\t ]+|[\t ]+$/g, "")
  if (!plain.test(value)) return undefined
  const [, encoded] = marked.exec(value) ?? []
  if (encoded === undefined) return value
  const text = base64.decodeText(encoded)
  if (text === undefined) return undefined
  // Invalid UTF-8 and non-canonical Base64 do not encode to the same text again; decoders remove a byte order mark.
  return [text, `\uFEFF${text}`].find((text) => base64.encodeText(text) === encoded)
}

/** The param that the name header mirrors; `undefined` for methods that have none. */
const nameParamOf = ({ method }: Request | Notification) => MethodInfo.ofRequest(method)?.nameParam

const textOf = (value: unknown): string | undefined =>
  typeof value === "string" || typeof value === "boolean" || typeof value === "number" ? `${value}` : undefined

/** The headers that mirror the arguments of a call; an absent one, or null, has none. */
export const ofParams = (params: ReadonlyArray<HeaderParam>, args: unknown): { readonly [name: string]: string } =>
  Object.fromEntries(
    params.flatMap((param) => {
      const text = textOf(valueOf(param, args))
      return text === undefined ? [] : [[paramPrefix + param.name.toLowerCase(), encode(text)]]
    })
  )

/** The headers that mirror a message. `params` are the annotated arguments of the tool that it calls. */
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
  `${header} says ${excerpt(JSON.stringify(said))}, the body ${excerpt(JSON.stringify(body))}`

/** Values that both ways of reading leave unchanged: most versions, methods and names. */
const plainest = /^[A-Za-z0-9_./:-]+$/
/** Whether header and body are the same plain text: the fast path of `mismatch`. */
const isSame = (header: string | undefined, body: unknown): boolean =>
  header !== undefined && header === body && plainest.test(header)

/**
 * How the standard headers disagree with the request; `undefined` if they agree. A body that lacks the value is no mismatch. `own` gives
 * the param that the name header mirrors, for methods that MCP does not have.
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

/** A value that has no Base64 form. */
const literal = (header: string): string | undefined => {
  const value = header.replaceAll(/^[\t ]+|[\t ]+$/g, "")
  return plain.test(value) ? value : undefined
}

/** How the headers of a tool's arguments disagree with those it is called with; `undefined` if they agree. */
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
    if (value === undefined && given !== undefined) return `${header} is given, but not the argument`
    // An argument of a type that no header can hold is refused by its schema.
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
