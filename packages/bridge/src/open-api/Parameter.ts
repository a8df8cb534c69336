/** An operation parameter: its location and how its value is serialized there (OpenAPI 3.1, style values). */
import type { JsonObject } from "@effect-mcp/protocol/JsonSchema"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Document from "./Document.ts"
import * as Schemas from "./Schemas.ts"

export type ParameterPlace = "path" | "query" | "header"

export interface Parameter {
  readonly place: ParameterPlace
  readonly name: string
  readonly jsonSchema: JsonObject
  readonly required: boolean
  /** Serializes the value as query pairs, or as a single string for a path or header. */
  readonly write: (value: unknown) => ReadonlyArray<readonly [name: string, text: string]>
}

/** Headers a document must not set, because only the client may set them (OpenAPI 3.1, fixed fields of a parameter, and fetch). */
const reserved =
  /^(?:accept|accept-encoding|authorization|connection|content-.*|cookie2?|expect|host|keep-alive|origin|proxy-.*|referer|sec-.*|te|trailer|transfer-encoding|upgrade|via)$/i

const plain = (value: unknown): string => (typeof value === "string" ? value : (JSON.stringify(value) ?? ""))
const listed = (value: unknown): ReadonlyArray<unknown> =>
  isJsonObject(value) ? Object.entries(value).flat() : Array.isArray(value) ? value : [value]

const separators: { readonly [style: string]: string } = {
  form: ",",
  simple: ",",
  spaceDelimited: " ",
  pipeDelimited: "|"
}

const writerOf = (parameter: JsonObject, name: string, place: ParameterPlace): Parameter["write"] => {
  if (isJsonObject(parameter["content"])) return (value) => [[name, JSON.stringify(value) ?? ""]]
  const style = Document.textOf(parameter["style"]) ?? (place === "query" ? "form" : "simple")
  const explode = typeof parameter["explode"] === "boolean" ? parameter["explode"] : style === "form"
  if (style === "deepObject" && place === "query") {
    return (value) =>
      isJsonObject(value)
        ? Object.entries(value).map(([key, item]) => [`${name}[${key}]`, plain(item)])
        : [[name, plain(value)]]
  }
  const separator = separators[style]
  if (separator === undefined || (place !== "query" && style !== "simple")) {
    throw new Document.InvalidDocument({ message: `the style ${style} of its parameter ${name} is not supported` })
  }
  return (value) => {
    if (place === "query" && explode && isJsonObject(value)) {
      return Object.entries(value).map(([key, item]) => [key, plain(item)])
    }
    if (place === "query" && explode && Array.isArray(value)) return value.map((item: unknown) => [name, plain(item)])
    const pairs =
      explode && isJsonObject(value)
        ? Object.entries(value).map(([key, item]) => `${key}=${plain(item)}`)
        : listed(value).map(plain)
    return [[name, pairs.join(separator)]]
  }
}

/** Returns the schema of the parameter's value, from the parameter itself or from its media type. */
const schemaOf = ({ content, description, schema }: JsonObject): unknown => {
  const [media] = isJsonObject(content) ? Object.values(content) : []
  const own = schema ?? (isJsonObject(media) ? media["schema"] : undefined)
  const noted = typeof description === "string" && isJsonObject(own) && own["$ref"] === undefined
  return noted ? { description, ...own } : own
}

/** Reads a parameter. Returns `undefined` for a header the document must not set. Throws if the value can't be serialized. */
export const make = (document: JsonObject, parameter: JsonObject): Parameter | undefined => {
  const { in: place, name } = parameter
  if (typeof name !== "string" || name === "")
    throw new Document.InvalidDocument({ message: "a parameter has no name" })
  const required = parameter["required"] === true || place === "path"
  if (place === "cookie" && !required) return undefined
  if (place !== "path" && place !== "query" && place !== "header") {
    throw new Document.InvalidDocument({
      message: `its parameter ${name} is in ${String(place)}, which is not supported`
    })
  }
  if (place === "header" && reserved.test(name)) return undefined
  return {
    place,
    name,
    required,
    jsonSchema: Schemas.jsonSchema(document, schemaOf(parameter)),
    write: writerOf(parameter, name, place)
  }
}
