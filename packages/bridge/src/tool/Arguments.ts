/**
 * The parts of a request as the arguments of one tool: path, query, headers and body side by side.
 *
 * An object is taken apart into its properties, anything else is one argument. Where two parts have one name, the later one has the name of
 * its part before it: `query_id`.
 */
import { InvalidValue } from "@effect-mcp/core/Tool"
import type { JsonObject } from "@effect-mcp/protocol/JsonSchema"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Effect from "effect/Effect"

export interface Part {
  /** Where the values belong, such as `query`; also the name of an argument that is a whole part. */
  readonly place: string
  readonly jsonSchema: JsonObject
  /** Whether a part that is one argument must be given. */
  readonly required: boolean
}

/** Values by place. */
export type Placed = { readonly [place: string]: unknown }

export interface Arguments {
  readonly jsonSchema: JsonObject
  /** The values of each part; a part without values is left out, unless it is an object. */
  readonly place: (args: JsonObject) => Placed
  /** The reverse. */
  readonly gather: (placed: Placed) => JsonObject
}

interface Slot {
  readonly place: string
  /** The property of an object; undefined where the argument is the whole part. */
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

/** The value with other names of definitions in its references. */
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

/** The parts with definitions that have one name only where they are one. */
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

/** The arguments of all parts. Throws where two arguments have one name even with the names of their parts. */
export const make = (parts: ReadonlyArray<Part>): Arguments => {
  const definitions = new Definitions()
  const slots = new Map<string, Slot>()
  const properties = new Map<string, unknown>()
  const required: Array<string> = []
  const add = (slot: Slot, jsonSchema: unknown, isRequired: boolean): void => {
    const { key, place } = slot
    const plain = key ?? place
    const name = slots.has(plain) ? `${place}_${plain}` : plain
    if (slots.has(name)) throw new Error(`Two arguments are named ${JSON.stringify(name)}: rename one of them`)
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

/** The values by place of what a client sent. */
export const placed = ({ place }: Arguments, wire: unknown): Effect.Effect<Placed, InvalidValue> =>
  isJsonObject(wire)
    ? Effect.succeed(place(wire))
    : Effect.fail(new InvalidValue({ message: "Expected a JSON object of arguments" }))

/** A name with other characters than those of a tool replaced by `_`, at most 64 of them. */
export const toolName = (name: string): string => name.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, 64)
