/** Resolves the references in a document, and finds circular references. */
import { isJsonObject, type JsonObject } from "../../internal/JsonObject.ts"
import { inside, type SchemaPlace, placesOf } from "./Places.ts"

const segmentsOf = (pointer: string): ReadonlyArray<string> => {
  try {
    return decodeURIComponent(pointer)
      .split("/")
      .slice(1)
      .map((segment) => segment.replaceAll("~1", "/").replaceAll("~0", "~"))
  } catch {
    return ["", "not a pointer"]
  }
}

const memberOf = (value: unknown, key: string): unknown => {
  if (Array.isArray(value)) return /^\d+$/.test(key) ? (value[Number(key)] as unknown) : undefined
  return isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined
}

const isSchema = (value: unknown): value is JsonObject | boolean => typeof value === "boolean" || isJsonObject(value)

/** Maximum number of schemas to visit in the search for cycles. Beyond it, a reference counts as recursive. */
const maxVisits = 200_000

/** How a reference can be used. */
type ReferenceKind = "plain" | "recursive" | "broken"

export class References {
  private readonly root: JsonObject
  private readonly targets = new Map<string, JsonObject | boolean | undefined>()
  private readonly kinds = new Map<string, ReferenceKind>()
  private visits = 0
  private anchors: ReadonlyMap<string, JsonObject> | undefined

  constructor(root: JsonObject) {
    this.root = root
  }

  /** Returns the schema that a reference points to, or `undefined` if the document has no such schema. */
  target(reference: string): JsonObject | boolean | undefined {
    if (this.targets.has(reference)) return this.targets.get(reference)
    const found = this.find(reference)
    const target = isSchema(found) ? found : undefined
    this.targets.set(reference, target)
    return target
  }

  kind(reference: string): ReferenceKind {
    const known = this.kinds.get(reference)
    if (known !== undefined) return known
    const target = this.target(reference)
    const kind = target === undefined ? "broken" : this.returns(reference, target) ? "recursive" : "plain"
    this.kinds.set(reference, kind)
    return kind
  }

  private find(reference: string): unknown {
    if (reference === "#") return this.root
    if (reference.startsWith("#/")) return segmentsOf(reference).reduce(memberOf, this.root as unknown)
    if (!reference.startsWith("#")) return undefined
    this.anchors ??= new Map(
      placesOf(this.root).flatMap(({ schema }) =>
        typeof schema === "object" && typeof schema["$anchor"] === "string" ? [[schema["$anchor"], schema]] : []
      )
    )
    return this.anchors.get(reference.slice(1))
  }

  /** True if following references from the schema leads back to it. */
  private returns(reference: string, target: JsonObject | boolean): boolean {
    const seen = new Set<JsonObject | boolean>([target])
    const open: Array<SchemaPlace> = [{ schema: target, at: reference, keyword: undefined, depth: 0 }]
    let first = true
    for (let place = open.pop(); place !== undefined; place = open.pop()) {
      const { schema } = place
      if (++this.visits > maxVisits) return true
      if (typeof schema === "boolean") continue
      if (!first && schema === target) return true
      first = false
      const { $ref } = schema
      const next = typeof $ref === "string" ? this.target($ref) : undefined
      if (next === target) return true
      if (next !== undefined && !seen.has(next)) {
        seen.add(next)
        open.push({ schema: next, at: "", keyword: undefined, depth: 0 })
      }
      // A schema's definitions don't describe its values.
      open.push(...inside(place).filter(({ keyword }) => keyword !== "$defs" && keyword !== "definitions"))
    }
    return false
  }
}
