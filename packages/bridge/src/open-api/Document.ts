/**
 * An OpenAPI 3.1 document, read with bounds: it may be a stranger's.
 *
 * Owns references within the document. Refuses references to other documents, and a document that is too large or too deep.
 */
import type { JsonObject } from "@effect-mcp/protocol/JsonSchema"
import { excerpt } from "@effect-mcp/protocol/Excerpt"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Data from "effect/Data"

/** The document cannot be used, or an operation of it that the program chose. */
export class InvalidDocument extends Data.TaggedError("InvalidDocument")<{ readonly message: string }> {}

export interface DocumentLimits {
  /** Operations that become tools at most. Default 200. */
  readonly operations?: number | undefined
  /** Values in the document at most, objects and lists included. Default 200 000. */
  readonly values?: number | undefined
  /** Levels of objects and lists at most. Default 100. */
  readonly depth?: number | undefined
  /** Characters of the input schemas of all tools together, at most. Default 4 million. */
  readonly schemas?: number | undefined
}

export const defaultLimits: Required<{ readonly [name in keyof DocumentLimits]: number }> = {
  operations: 200,
  values: 200_000,
  depth: 100,
  schemas: 4_000_000
}

/** An operation of a path. */
export interface Operation {
  /** Its `operationId`, else its method and path. */
  readonly id: string
  /** In capitals. */
  readonly method: string
  /** As the document has it: `/users/{id}`. */
  readonly path: string
  readonly tags: ReadonlyArray<string>
  readonly summary: string | undefined
  readonly description: string | undefined
  readonly deprecated: boolean
  /** Those of the path and its own. */
  readonly parameters: ReadonlyArray<JsonObject>
  readonly requestBody: JsonObject | undefined
}

const methods = ["get", "put", "post", "delete", "options", "head", "patch"]
/** References that lead from one to the next at most. */
const maxHops = 16

const listOf = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])
export const textOf = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined)

/** Throws where the document has more values or levels than allowed. */
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

/** What a pointer such as `#/components/parameters/limit` leads to. */
export const pointed = (document: JsonObject, reference: string): unknown => {
  if (!reference.startsWith("#/")) {
    throw new InvalidDocument({
      message: `The reference ${excerpt(reference)} leads out of the document: put what it means into the document`
    })
  }
  let value: unknown = document
  for (const part of reference.slice(2).split("/")) {
    const key = decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~")
    const member = typeof value === "object" && value !== null ? Object.getOwnPropertyDescriptor(value, key) : undefined
    if (member === undefined) {
      throw new InvalidDocument({ message: `The reference ${excerpt(reference)} leads nowhere` })
    }
    value = member.value
  }
  return value
}

/** The object itself, or the one that its `$ref` leads to. */
const resolved = (document: JsonObject, value: unknown): JsonObject | undefined => {
  let found: unknown = value
  for (let hops = 0; isJsonObject(found) && typeof found["$ref"] === "string"; hops++) {
    if (hops === maxHops) throw new InvalidDocument({ message: `The reference ${excerpt(found["$ref"])} does not end` })
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

/** All operations, in the order of the document. Throws `InvalidDocument`. */
export const operations = (document: unknown, limits: DocumentLimits = {}): ReadonlyArray<Operation> => {
  measure(document, limits)
  const version = isJsonObject(document) ? textOf(document["openapi"]) : undefined
  if (!isJsonObject(document) || version === undefined || !version.startsWith("3.1")) {
    const given = version === undefined ? "it has no `openapi`" : `it is of ${excerpt(version)}`
    throw new InvalidDocument({ message: `Expected an OpenAPI document of 3.1, as a parsed object, but ${given}` })
  }
  const paths = isJsonObject(document["paths"]) ? document["paths"] : {}
  return Object.entries(paths).flatMap(([path, value]) => {
    const item = resolved(document, value)
    return item === undefined ? [] : operationsOf(document, path, item)
  })
}
