/**
 * Builds an operation's request from a tool's arguments.
 *
 * The URL is always under the base URL, regardless of the document and the arguments.
 */
import type { JsonObject } from "@effect-mcp/protocol/JsonSchema"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import type { HttpMethod } from "effect/http/HttpMethod"
import * as Arguments from "../tool/Arguments.ts"
import * as Document from "./Document.ts"
import * as Parameter from "./Parameter.ts"
import * as Schemas from "./Schemas.ts"

export interface OperationRequest {
  readonly arguments: Arguments.Arguments
  /** Builds the request. Throws if a value can't be used in a path. */
  readonly make: (placed: Arguments.Placed) => HttpClientRequest.HttpClientRequest
}

interface Body {
  readonly part: Arguments.Part
  readonly isForm: boolean
}

const json = /^application\/(?:json|[\w.+-]+\+json)(?:;|$)/i
const form = "application/x-www-form-urlencoded"

const bodyOf = (document: JsonObject, requestBody: JsonObject | undefined): Body | undefined => {
  if (requestBody === undefined) return undefined
  const content = isJsonObject(requestBody["content"]) ? requestBody["content"] : {}
  const types = Object.keys(content)
  const type = types.find((type) => json.test(type)) ?? types.find((type) => type === form)
  const required = requestBody["required"] === true
  if (type === undefined) {
    if (!required) return undefined
    throw new Document.InvalidDocument({
      message: `its body is ${types.join(" or ") || "nothing"}, not JSON or a form`
    })
  }
  const media = content[type]
  const jsonSchema = Schemas.jsonSchema(document, isJsonObject(media) ? media["schema"] : {})
  return { part: { place: "body", jsonSchema, required }, isForm: type === form }
}

/** Combines the parameters in one location into a single object. */
const partOf = (place: Parameter.ParameterPlace, parameters: ReadonlyArray<Parameter.Parameter>): Arguments.Part => {
  const definitions = parameters.flatMap(({ jsonSchema: { $defs } }) =>
    isJsonObject($defs) ? Object.entries($defs) : []
  )
  const properties = Object.fromEntries(
    parameters.map(({ jsonSchema: { $defs: _definitions, ...own }, name }) => [name, own])
  )
  const required = parameters.filter((parameter) => parameter.required).map(({ name }) => name)
  return {
    place,
    required: true,
    jsonSchema: {
      type: "object",
      properties,
      required,
      ...(definitions.length === 0 ? undefined : { $defs: Object.fromEntries(definitions) })
    }
  }
}

/** Checks that a header can be sent over HTTP. The error omits the value, because it may be a secret. */
const sendable = ([name, text]: readonly [string, string]): [name: string, text: string] => {
  if (/^[\t\x20-\x7e\x80-\xff]*$/.test(text)) return [name, text]
  const message = `the value of the header ${name} cannot be sent: it contains a line break or characters outside Latin-1`
  throw new Document.InvalidDocument({ message })
}

/** Encodes a path segment. Rejects `.` and `..`, which would escape the base URL. */
const segment = (text: string): string => {
  if (text === "" || text === "." || text === "..") {
    throw new Document.InvalidDocument({ message: `${JSON.stringify(text)} is not allowed in a path` })
  }
  return encodeURIComponent(text)
}

/** Returns the operation's URL under the base. Throws if the path escapes the base. */
const urlOf = (base: URL, path: string): URL => {
  const root = base.pathname.endsWith("/") ? base.pathname : `${base.pathname}/`
  const url = new URL(`${base.origin}${root}${path.replace(/^\//, "")}`)
  const isBelow = url.origin === base.origin && url.pathname.startsWith(root) && url.username === ""
  if (!isBelow || !path.startsWith("/") || /[?#\\]/.test(path) || path.startsWith("//")) {
    throw new Document.InvalidDocument({ message: `the path ${JSON.stringify(path)} is not below ${base.href}` })
  }
  return url
}

const valuesOf = (placed: Arguments.Placed, place: string): JsonObject => {
  const values = placed[place]
  return isJsonObject(values) ? values : {}
}

/** Prepares an operation for calls. Throws if it can't be called. */
export const make = (document: JsonObject, operation: Document.Operation, base: URL): OperationRequest => {
  const parameters = operation.parameters.flatMap((parameter) => Parameter.make(document, parameter) ?? [])
  const inPlace = (place: Parameter.ParameterPlace) => parameters.filter((parameter) => parameter.place === place)
  const body = bodyOf(document, operation.requestBody)
  const places = (["path", "query", "header"] as const).flatMap((place) => {
    const own = inPlace(place)
    return own.length === 0 ? [] : [partOf(place, own)]
  })
  // Rejects a path that escapes the base URL before any call is made.
  urlOf(base, operation.path.replaceAll(/\{[^}]*\}/g, "x"))
  const written = (placed: Arguments.Placed, place: Parameter.ParameterPlace) => {
    const values = valuesOf(placed, place)
    return inPlace(place).flatMap(({ name, write }) => (Object.hasOwn(values, name) ? write(values[name]) : []))
  }
  return {
    arguments: Arguments.make(body === undefined ? places : [...places, body.part]),
    make: (placed) => {
      const inPath = new Map(written(placed, "path"))
      const path = operation.path.replaceAll(/\{([^}]*)\}/g, (_, name: string) => segment(inPath.get(name) ?? ""))
      const url = urlOf(base, path)
      for (const [name, text] of written(placed, "query")) url.searchParams.append(name, text)
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `Document` reads these methods only
      const request = HttpClientRequest.make(operation.method as HttpMethod)(url).pipe(
        HttpClientRequest.setHeaders(written(placed, "header").map(sendable))
      )
      const value = placed["body"]
      if (body === undefined || value === undefined) return request
      return body.isForm
        ? HttpClientRequest.bodyUrlParams(
            request,
            Object.entries(valuesOf(placed, "body")).map(([name, item]): [string, string] => [
              name,
              typeof item === "string" ? item : JSON.stringify(item)
            ])
          )
        : HttpClientRequest.bodyJsonUnsafe(request, value)
    }
  }
}
