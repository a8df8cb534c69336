/**
 * Reads an OpenAPI 3.1 document with limits, because it may be untrusted.
 *
 * Resolves references within the document. Rejects references to other documents, as well as documents that are too large or too deeply
 * nested.
 */
import type { JsonObject } from "@effect-mcp/protocol/JsonSchema"
import { excerpt } from "@effect-mcp/protocol/Excerpt"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Data from "effect/Data"

/** The document is unusable, or an operation chosen by the program is. */
export class InvalidDocument extends Data.TaggedError("InvalidDocument")<{ readonly message: string }> {}

export interface DocumentLimits {
  /** Maximum number of operations to turn into tools. Default 200. */
  readonly operations?: number | undefined
  /** Maximum number of values in the document, including objects and arrays. Default 200 000. */
  readonly values?: number | undefined
  /** Maximum nesting depth of objects and arrays. Default 100. */
  readonly depth?: number | undefined
  /** Maximum total length of all tools' input schemas, in characters. Default 4 million. */
  readonly schemas?: number | undefined
}

export const defaultLimits: Required<{ readonly [name in keyof DocumentLimits]: number }> = {
  operations: 200,
  values: 200_000,
  depth: 100,
  schemas: 4_000_000
}

/** An operation on a path. */
export interface Operation {
  /** The `operationId`, or the method and path if there is none. */
  readonly id: string
  /** HTTP method in upper case. */
  readonly method: string
  /** Path as written in the document, such as `/users/{id}`. */
  readonly path: string
  readonly tags: ReadonlyArray<string>
  readonly summary: string | undefined
  readonly description: string | undefined
  readonly deprecated: boolean
  /** Parameters declared by the path and by the operation. */
  readonly parameters: ReadonlyArray<JsonObject>
  readonly requestBody: JsonObject | undefined
}

const methods = ["get", "put", "post", "delete", "options", "head", "patch"]
/** Maximum length of a chain of references. */
const maxHops = 16

const listOf = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])
export const textOf = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined)

/** Throws if the document has too many values or is nested too deeply. */
const measure = (document: unknown, limits: DocumentLimits): void => {
  const { depth = defaultLimits.depth, values = defaultLimits.values } = limits
  let level: ReadonlyArray<unknown> = [document]
  let count = 0
  for (let at = 0; level.length > 0; at++) {
    count += level.length
    if (count > values) throw new InvalidDocument({ message: `The document has more than ${values} values` })
    if (at > depth) throw new InvalidDocument({ message: `The document is nested deeper than ${depth} levels` })
    level = level.flatMap((value): ReadonlyArray<unknown> =>
      typeof value === "object" && value !== null ? Object.values(value) : []
    )
  }
}

/** Returns the value at a pointer such as `#/components/parameters/limit`. */
export const pointed = (document: JsonObject, reference: string): unknown => {
  if (!reference.startsWith("#/")) {
    throw new InvalidDocument({
      message: `The reference ${excerpt(reference)} points outside the document. Copy its target into the document`
    })
  }
  let value: unknown = document
  for (const part of reference.slice(2).split("/")) {
    const key = decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~")
    const member = typeof value === "object" && value !== null ? Object.getOwnPropertyDescriptor(value, key) : undefined
    if (member === undefined) {
      throw new InvalidDocument({ message: `The reference ${excerpt(reference)} points to nothing` })
    }
    value = member.value
  }
  return value
}

/** Returns the object itself, or the object its `$ref` points to. */
const resolved = (document: JsonObject, value: unknown): JsonObject | undefined => {
  let found: unknown = value
  for (let hops = 0; isJsonObject(found) && typeof found["$ref"] === "string"; hops++) {
    if (hops === maxHops) throw new InvalidDocument({ message: `The reference ${excerpt(found["$ref"])} is circular` })
    found = pointed(document, found["$ref"])
  }
  return isJsonObject(found) ? found : undefined
}

const parametersOf = (document: JsonObject, shared: unknown, own: unknown): ReadonlyArray<JsonObject> => {
  const all = new Map<string, JsonObject>()
  for (const value of [...listOf(shared), ...listOf(own)]) {
    const parameter = resolved(document, value)
    if (parameter !== undefined) all.set(JSON.stringify([parameter["in"], parameter["name"]]), parameter)
  }
  return [...all.values()]
}

const operationsOf = (document: JsonObject, path: string, item: JsonObject): ReadonlyArray<Operation> =>
  methods.flatMap((name) => {
    const operation = Object.hasOwn(item, name) ? item[name] : undefined
    if (!isJsonObject(operation)) return []
    const method = name.toUpperCase()
    return [
      {
        id: textOf(operation["operationId"]) ?? `${method} ${path}`,
        method,
        path,
        tags: listOf(operation["tags"]).filter((tag) => typeof tag === "string"),
        summary: textOf(operation["summary"]) ?? textOf(item["summary"]),
        description: textOf(operation["description"]) ?? textOf(item["description"]),
        deprecated: operation["deprecated"] === true,
        parameters: parametersOf(document, item["parameters"], operation["parameters"]),
        requestBody: resolved(document, operation["requestBody"])
      }
    ]
  })

/** Returns all operations in document order. Throws `InvalidDocument`. */
export const operations = (document: unknown, limits: DocumentLimits = {}): ReadonlyArray<Operation> => {
  measure(document, limits)
  const version = isJsonObject(document) ? textOf(document["openapi"]) : undefined
  if (!isJsonObject(document) || version === undefined || !version.startsWith("3.1")) {
    const given = version === undefined ? "it has no `openapi` field" : `its version is ${excerpt(version)}`
    throw new InvalidDocument({ message: `Expected a parsed OpenAPI 3.1 document, but ${given}` })
  }
  const paths = isJsonObject(document["paths"]) ? document["paths"] : {}
  return Object.entries(paths).flatMap(([path, value]) => {
    const item = resolved(document, value)
    return item === undefined ? [] : operationsOf(document, path, item)
  })
}
