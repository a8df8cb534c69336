/**
 * Combines the parts of a request, such as path, query, headers and body, into one set of tool arguments.
 *
 * Each property of an object part becomes an argument, and any other part becomes a single argument. If two parts use the same name, the
 * later argument is prefixed with its part's name: `query_id`.
 */
import { InvalidValue } from "@effect-mcp/core/Tool"
import type { JsonObject } from "@effect-mcp/protocol/JsonSchema"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Effect from "effect/Effect"

export interface Part {
  /** Location of the values, such as `query`. If the part isn't an object, this is also the argument's name. */
  readonly place: string
  readonly jsonSchema: JsonObject
  /** Whether to require the argument if the part isn't an object. */
  readonly required: boolean
}

/** Values by place. */
export type Placed = { readonly [place: string]: unknown }

export interface Arguments {
  readonly jsonSchema: JsonObject
  /** Returns the values for each part. Parts without values are omitted, unless they are objects. */
  readonly place: (args: JsonObject) => Placed
  /** Inverse of `place`. */
  readonly gather: (placed: Placed) => JsonObject
}

interface Slot {
  readonly place: string
  /** Property of an object, or `undefined` if the argument is the whole part. */
  readonly key: string | undefined
}

const isFlat = ({ jsonSchema }: Part): boolean => {
  const { properties, type } = jsonSchema
  return (
    type === "object" &&
    isJsonObject(properties) &&
    Object.keys(properties).length > 0 &&
    !("anyOf" in jsonSchema || "oneOf" in jsonSchema || "allOf" in jsonSchema)
  )
}

/** Renames the definitions that a value refers to. */
const renamed = (value: unknown, names: ReadonlyMap<string, string>): unknown => {
  if (Array.isArray(value)) return value.map((item: unknown) => renamed(item, names))
  if (!isJsonObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => {
      const target = key === "$ref" && typeof item === "string" ? names.get(item) : undefined
      return [key, target ?? renamed(item, names)]
    })
  )
}

/** Merges the parts' definitions. Definitions share a name only if they are equal. */
class Definitions {
  readonly all = new Map<string, unknown>()

  add({ jsonSchema, place }: Part): JsonObject {
    const { $defs, ...root } = jsonSchema
    if (!isJsonObject($defs)) return root
    const names = new Map<string, string>()
    for (const [name, definition] of Object.entries($defs)) {
      const isTaken = this.all.has(name) && JSON.stringify(this.all.get(name)) !== JSON.stringify(definition)
      if (isTaken) names.set(`#/$defs/${name}`, `#/$defs/${place}_${name}`)
    }
    for (const [name, definition] of Object.entries($defs)) {
      const key = names.get(`#/$defs/${name}`)?.slice("#/$defs/".length) ?? name
      this.all.set(key, renamed(definition, names))
    }
    const own = renamed(root, names)
    return isJsonObject(own) ? own : {}
  }
}

/** Returns all parts' arguments. Throws if two arguments have the same name even after adding their parts' names. */
export const make = (parts: ReadonlyArray<Part>): Arguments => {
  const definitions = new Definitions()
  const slots = new Map<string, Slot>()
  const properties = new Map<string, unknown>()
  const required: Array<string> = []
  const add = (slot: Slot, jsonSchema: unknown, isRequired: boolean): void => {
    const { key, place } = slot
    const plain = key ?? place
    const name = slots.has(plain) ? `${place}_${plain}` : plain
    if (slots.has(name))
      throw new Error(`Two arguments have the same name, ${JSON.stringify(name)}. Rename one of them`)
    slots.set(name, slot)
    properties.set(name, jsonSchema)
    if (isRequired) required.push(name)
  }
  for (const part of parts) {
    const jsonSchema = definitions.add(part)
    if (!isFlat(part)) {
      add({ place: part.place, key: undefined }, jsonSchema, part.required)
      continue
    }
    const needed = Array.isArray(jsonSchema["required"]) ? jsonSchema["required"] : []
    const own = isJsonObject(jsonSchema["properties"]) ? jsonSchema["properties"] : {}
    for (const [key, property] of Object.entries(own)) {
      add({ place: part.place, key }, property, part.required && needed.includes(key))
    }
  }
  const whole = new Set(parts.filter((part) => isFlat(part) && part.required).map(({ place }) => place))
  return {
    jsonSchema: {
      type: "object",
      properties: Object.fromEntries(properties),
      ...(required.length === 0 ? undefined : { required }),
      ...(definitions.all.size === 0 ? undefined : { $defs: Object.fromEntries(definitions.all) })
    },
    place: (args) => {
      const placed = new Map<string, unknown>(Array.from(whole, (place) => [place, {}]))
      for (const [name, { key, place }] of slots) {
        if (!Object.hasOwn(args, name)) continue
        const value = args[name]
        const own = placed.get(place)
        placed.set(place, key === undefined ? value : { ...(isJsonObject(own) ? own : undefined), [key]: value })
      }
      return Object.fromEntries(placed)
    },
    gather: (placed) =>
      Object.fromEntries(
        Array.from(slots).flatMap(([name, { key, place }]) => {
          const own = placed[place]
          if (key === undefined) return own === undefined ? [] : [[name, own]]
          return isJsonObject(own) && Object.hasOwn(own, key) ? [[name, own[key]]] : []
        })
      )
  }
}

/** Decodes a client's arguments and returns the values by place. */
export const placed = ({ place }: Arguments, wire: unknown): Effect.Effect<Placed, InvalidValue> =>
  isJsonObject(wire)
    ? Effect.succeed(place(wire))
    : Effect.fail(new InvalidValue({ message: "The arguments must be a JSON object" }))

/** Returns a valid tool name: replaces other characters by `_` and keeps at most 64. */
export const toolName = (name: string): string => name.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, 64)
