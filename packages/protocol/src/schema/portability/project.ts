/**
 * Rewrites a tool's schemas into schemas that every host accepts.
 *
 * The values stay the same: every input that matches the original schema also matches the projection, and the server
 * still decodes it with the original schema. Descriptions mention the constraints that the projection cannot check.
 * Only property names that no provider accepts are replaced; `original` restores them.
 */
import { isJsonObject, type JsonObject } from "../../internal/JsonObject.ts"
import { annotation } from "../../wire/HeaderParams.ts"
import { expand, mapInside } from "./expand.ts"
import { mended, mendedRoot, modern } from "./mends.ts"
import { type Obstacle, ofInputSchema, ofOutputSchema } from "./obstacles.ts"
import { rules } from "./PortabilityRule.ts"
import { flattened } from "./union.ts"
import { isPropertyName } from "./vocabulary.ts"

/** A schema for every host. */
export interface Projection {
  /** The projected schema, or the given object itself if it needs no change. */
  readonly schema: JsonObject
  /** Restores the property names of the original schema in a value. */
  readonly original: (value: JsonObject) => JsonObject
}

const needsMend = (obstacles: ReadonlyArray<Obstacle>): boolean => obstacles.some(({ rule }) => rules[rule].projectable)

/** Maximum depth at which schemas are rewritten. Deeper schemas stay unchanged. */
const maxNesting = 100

/** Rewrites inner schemas first. */
const bottomUp = (schema: unknown, mend: (schema: JsonObject) => JsonObject, nesting = 0): unknown =>
  !isJsonObject(schema) || nesting > maxNesting
    ? schema
    : mend(mapInside(schema, (inner) => bottomUp(inner, mend, nesting + 1)))

const maxName = 64

/** Returns replacements for property names that are not accepted, keyed by the original names. */
const aliasesOf = ({ properties }: JsonObject): ReadonlyMap<string, string> => {
  const names = isJsonObject(properties) ? Object.keys(properties) : []
  const taken = new Set(names)
  const aliases = new Map<string, string>()
  /** The last number tried per alias, because a hostile schema may have thousands of names with the same alias. */
  const counts = new Map<string, number>()
  for (const name of names) {
    // The client also sends these in a header, which is named in its own copy of the schema.
    const hasHeader = isJsonObject(properties) && isJsonObject(properties[name]) && annotation in properties[name]
    if (isPropertyName(name) || hasHeader) continue
    const safe = name.replaceAll(/[^A-Za-z0-9_.-]/g, "_").slice(0, maxName) || "_"
    let alias = safe
    let count = counts.get(safe) ?? 1
    while (taken.has(alias)) {
      count++
      alias = `${safe.slice(0, maxName - 1 - String(count).length)}_${count}`
    }
    counts.set(safe, count)
    taken.add(alias)
    aliases.set(name, alias)
  }
  return aliases
}

const unchanged = (value: JsonObject): JsonObject => value

const renamed = (schema: JsonObject): Projection => {
  const aliases = aliasesOf(schema)
  if (aliases.size === 0) return { schema, original: unchanged }
  const { properties, required } = schema
  const alias = (name: string): string => aliases.get(name) ?? name
  const entries = Object.entries(isJsonObject(properties) ? properties : {})
  const originals = new Map(Array.from(aliases, ([name, other]) => [other, name]))
  return {
    schema: {
      ...schema,
      properties: Object.fromEntries(entries.map(([name, property]) => [alias(name), property])),
      ...(Array.isArray(required) ? { required: required.map((name) => alias(String(name))) } : undefined)
    },
    // A caller that sends the original name, too, means an additional property of that name.
    original: (value) =>
      Object.fromEntries(
        Object.entries(value).map(([name, property]) => {
          const own = originals.get(name)
          return [own === undefined || Object.hasOwn(value, own) ? name : own, property]
        })
      )
  }
}

/**
 * Maximum length of an input schema's JSON to project. Larger schemas stay unchanged, because they may come from an
 * untrusted party.
 */
const maxLength = 65_536

/** Projects an input schema. With `keepsNames`, properties keep their names even if some provider rejects them. */
export const projectInput = (schema: JsonObject, keepsNames: boolean): Projection => {
  const found = ofInputSchema(schema).filter(({ rule }) => !keepsNames || rule !== "property-name")
  if (!needsMend(found) || JSON.stringify(schema).length > maxLength) return { schema, original: unchanged }
  const inner = mapInside(expand(schema), (part) => bottomUp(part, mended))
  const flat = flattened(mendedRoot(inner))
  return keepsNames ? { schema: flat, original: unchanged } : renamed(flat)
}

/** Projects an output schema, which hosts validate results with. Returns the given object itself if it needs no change. */
export const projectOutput = (schema: JsonObject): JsonObject => {
  const obstacles = ofOutputSchema(schema)
  if (!needsMend(obstacles)) return schema
  const { $schema: _, ...root } = schema
  const whole = obstacles.some(({ rule }) => rule === "recursion") ? expand(schema) : root
  const { $schema: __, ...rewritten } = withDefinitions(whole, modern)
  return rewritten
}

/** Rewrites each schema in a document that may have definitions. */
const withDefinitions = (root: JsonObject, mend: (schema: JsonObject) => JsonObject): JsonObject => {
  const rewritten = bottomUp(root, mend)
  const definitions = Object.entries(root).filter(([key]) => key === "$defs" || key === "definitions")
  return {
    ...(isJsonObject(rewritten) ? rewritten : root),
    ...Object.fromEntries(
      definitions.map(([key, value]) => [
        key,
        isJsonObject(value)
          ? Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, bottomUp(inner, mend)]))
          : value
      ])
    )
  }
}
