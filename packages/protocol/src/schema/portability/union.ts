/**
 * Merges the alternatives at an input schema's root into one object, and describes in words which properties belong
 * together.
 */
import { isJsonObject, type JsonObject } from "../../internal/JsonObject.ts"
import { intersected } from "./intersect.ts"
import { anyOf } from "./mends.ts"
import { either, quoted, say } from "./words.ts"

/** One form of the input. */
interface Form {
  readonly schema: JsonObject
  readonly properties: JsonObject
  readonly required: ReadonlySet<string>
}

const propertiesOf = ({ properties }: JsonObject): JsonObject => (isJsonObject(properties) ? properties : {})
const requiredOf = ({ required }: JsonObject): ReadonlyArray<string> =>
  Array.isArray(required) ? required.filter((name) => typeof name === "string") : []
const mayBeObject = ({ type }: JsonObject): boolean =>
  type === undefined || type === "object" || (Array.isArray(type) && type.includes("object"))

/** Maximum number of forms. Forms beyond it only add their properties. */
const maxForms = 100

/** Returns the forms of a schema: its alternatives, or the schema itself. */
const formsOf = (schema: JsonObject): ReadonlyArray<JsonObject> => {
  const { anyOf: any, oneOf, ...rest } = schema
  const members = Array.isArray(any) ? any : oneOf
  if (!Array.isArray(members)) return [schema]
  return members
    .map((member: unknown) => (member === true ? {} : member))
    .filter(isJsonObject)
    .filter(mayBeObject)
    .flatMap(formsOf)
    .map((member) => (Object.keys(rest).length === 0 ? member : intersected(member, rest)))
}

const formOf = (schema: JsonObject): Form => ({
  schema,
  properties: propertiesOf(schema),
  required: new Set(requiredOf(schema))
})

const constantsOf = (schema: unknown): ReadonlyArray<unknown> | undefined => {
  if (!isJsonObject(schema)) return undefined
  const { enum: values, maximum, minimum, type } = schema
  if (Array.isArray(values) && type === "string") return values
  return type === "integer" && minimum === maximum && typeof minimum === "number" ? [minimum] : undefined
}

/** Returns the property whose value determines the form, or `undefined` if there is no such property. */
const tagOf = (forms: ReadonlyArray<Form>): string | undefined => {
  const [first] = forms
  if (first === undefined || forms.length < 2) return undefined
  return [...first.required].find((name) => {
    const values = forms.map(({ properties, required }) =>
      required.has(name) ? constantsOf(properties[name]) : undefined
    )
    const all = values.flat()
    return values.every((one) => one !== undefined) && new Set(all).size === all.length
  })
}

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)

/** Returns the schema for a property that several forms may have. */
const merged = (name: string, forms: ReadonlyArray<Form>): unknown => {
  const given = forms.flatMap(({ properties, schema }): ReadonlyArray<unknown> => {
    if (Object.hasOwn(properties, name)) return [properties[name]]
    // A form that describes additional properties may also have a property with this name.
    const { additionalProperties } = schema
    return isJsonObject(additionalProperties) ? [additionalProperties] : []
  })
  const [first] = given
  if (given.every((schema) => isSame(schema, first))) return first
  const constants = given.map(constantsOf)
  if (constants.every((values) => values?.every((value) => typeof value === "string"))) {
    const notes = given.flatMap((schema) =>
      isJsonObject(schema) && typeof schema["description"] === "string" ? [schema["description"]] : []
    )
    const description = new Set(notes).size === 1 ? { description: notes[0] } : undefined
    return { type: "string", enum: [...new Set(constants.flat())], ...description }
  }
  return anyOf(given)
}

/** A form's properties, except for properties that are the same in every form. */
const ownOf = (form: Form, forms: ReadonlyArray<Form>, tag: string | undefined): ReadonlyArray<string> => {
  const names = new Set([...Object.keys(form.properties), ...form.required])
  const isCommon = (name: string) =>
    forms.every(
      ({ properties, required }) =>
        (Object.hasOwn(properties, name) || required.has(name)) && required.has(name) === form.required.has(name)
    )
  return [...names].filter((name) => name !== tag && !isCommon(name))
}

const titleOf = ({ description, title }: JsonObject): string => {
  const text = [title, description].find((note) => typeof note === "string")
  return typeof text === "string" && text.length <= 80 ? ` (${text.replace(/\.$/, "")})` : ""
}

/** Describes one form: its tag and its properties. */
const wordsOf = (form: Form, own: ReadonlyArray<string>, tag: string | undefined): string => {
  const names = own.map((name) => (form.required.has(name) ? name : `${name} (optional)`)).join(", ")
  if (tag === undefined) return `${names === "" ? "no others" : names}${titleOf(form.schema)}`
  const values = either((constantsOf(form.properties[tag]) ?? []).map((value) => JSON.stringify(value)))
  return `${tag} ${values}${titleOf(form.schema)}${names === "" ? "" : ` with ${names}`}`
}

/** The note next to a property that not every form has. */
const noteOf = (name: string, forms: ReadonlyArray<Form>, tag: string | undefined): string | undefined => {
  const those = forms.filter(({ properties }) => Object.hasOwn(properties, name))
  if (those.length === 0 || those.length === forms.length) return undefined
  const needed = those.every(({ required }) => required.has(name)) ? "Required and only used" : "Only used"
  if (tag !== undefined) {
    const values = those.flatMap(({ properties }) => constantsOf(properties[tag]) ?? [])
    return `${needed} with ${tag} ${either(values.map((value) => JSON.stringify(value)))}.`
  }
  const [only] = those
  const others = those.length === 1 ? [...(only?.required ?? [])].filter((other) => other !== name) : []
  const own = others.filter((other) => !forms.every(({ required }) => required.has(other)))
  return own.length === 0 ? undefined : `Only used with ${own.join(", ")}.`
}

/** The schemas that all apply to the root: the root itself and the members of its `allOf`. */
const partsOf = (root: JsonObject): ReadonlyArray<JsonObject> => {
  const { allOf, ...rest } = root
  return Array.isArray(allOf) ? [rest, ...allOf.filter(isJsonObject).flatMap(partsOf)] : [rest]
}

/** Both branches of a condition, and the dependencies of properties. */
const branchesOf = ({ dependentSchemas, else: otherwise, then }: JsonObject): ReadonlyArray<JsonObject> =>
  [then, otherwise, ...(isJsonObject(dependentSchemas) ? Object.values(dependentSchemas) : [])]
    .filter(isJsonObject)
    .flatMap(partsOf)
    .flatMap((part) => [...formsOf(part), ...branchesOf(part)])

/** Properties that a condition tests. They may have other values when it is false. */
const testedBy = ({ if: condition }: JsonObject): JsonObject =>
  isJsonObject(condition)
    ? Object.fromEntries(
        Object.entries(propertiesOf(condition)).map(([name, schema]) => [
          name,
          isJsonObject(schema) ? pick(schema, "type", "title", "description") : {}
        ])
      )
    : {}

/** Describes a condition on constants that makes properties required. */
const conditionWords = ({ if: condition, then }: JsonObject): ReadonlyArray<string> => {
  if (!isJsonObject(condition) || !isJsonObject(then)) return []
  const tested = Object.entries(propertiesOf(condition)).map(([name, schema]) => {
    const values = constantsOf(schema)
    return values === undefined ? undefined : `${name} ${either(values.map((value) => JSON.stringify(value)))}`
  })
  const needed = requiredOf(then)
  if (needed.length === 0 || tested.length === 0 || tested.some((words) => words === undefined)) return []
  return [`With ${tested.join(" and ")}, ${needed.join(", ")} ${needed.length === 1 ? "is" : "are"} required.`]
}

const dependencyWords = ({ dependentRequired }: JsonObject): ReadonlyArray<string> =>
  isJsonObject(dependentRequired)
    ? Object.entries(dependentRequired).flatMap(([name, needed]) =>
        Array.isArray(needed) ? [`${name} requires ${needed.join(", ")}.`] : []
      )
    : []

const restWords = ({ not }: JsonObject): ReadonlyArray<string> => {
  const text = not === undefined ? undefined : quoted(not)
  return text === undefined ? [] : [`Must not match ${text}.`]
}

/** Keywords that a root may not have. */
const rootOnly = new Set(
  "anyOf oneOf allOf if then else not enum const dependentRequired dependentSchemas dependencies type properties required additionalProperties".split(
    " "
  )
)

const names = (forms: ReadonlyArray<Form>): ReadonlyArray<string> => [
  ...new Set(forms.flatMap(({ properties }) => Object.keys(properties)))
]

const withoutRootOnly = (part: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(part).filter(([key]) => !rootOnly.has(key)))

/** Returns the properties in forms and branches that the base does not describe. */
const added = (forms: ReadonlyArray<Form>, others: ReadonlyArray<Form>, tag: string | undefined): JsonObject => {
  const all = [...forms, ...others]
  return Object.fromEntries(
    names(all).map((name) => {
      const schema = merged(name, all)
      return [name, isJsonObject(schema) ? say(schema, noteOf(name, forms, tag)) : {}]
    })
  )
}

/**
 * Returns one object that accepts at least the objects that the root accepts. A property that only some forms describe has the same type in
 * all of them.
 */
export const flattened = (root: JsonObject): JsonObject => {
  const parts = partsOf(root)
  const base = parts.map((part) => ({ ...withoutRootOnly(part), ...pick(part, ...kept) })).reduce(intersected)
  const [alternatives = [], ...others] = parts
    .filter((part) => "anyOf" in part || "oneOf" in part)
    .map((part) => formsOf(pick(part, "anyOf", "oneOf")).map(formOf))
  const branches = parts.flatMap(branchesOf).map(formOf)
  const forms = alternatives.slice(0, maxForms)
  const tag = tagOf(alternatives)
  const properties = {
    ...Object.assign({}, ...parts.map(testedBy)),
    ...added(alternatives, [...others.flat(), ...branches], tag),
    ...propertiesOf(base)
  }
  const [first, ...rest] = alternatives
  const needed = [...(first?.required ?? [])].filter((name) => rest.every(({ required }) => required.has(name)))
  const required = [...new Set([...requiredOf(base), ...needed])]
  const isClosed =
    alternatives.length > 0 && alternatives.every(({ schema }) => schema["additionalProperties"] === false)
  const sentences = [
    formWords(forms, tag),
    ...parts.flatMap(conditionWords),
    ...parts.flatMap(dependencyWords),
    ...parts.flatMap(restWords)
  ]
  const flat: JsonObject = {
    ...base,
    type: "object",
    properties,
    ...(required.length === 0 ? undefined : { required }),
    ...(isClosed ? { additionalProperties: false } : undefined)
  }
  return sentences.reduce<JsonObject>(say, flat)
}

/** Keywords that the base shares with its parts. */
const kept = ["properties", "required", "additionalProperties"]

const pick = (schema: JsonObject, ...keys: ReadonlyArray<string>): JsonObject =>
  Object.fromEntries(Object.entries(schema).filter(([key]) => keys.includes(key)))

const formWords = (forms: ReadonlyArray<Form>, tag: string | undefined): string | undefined => {
  if (forms.length < 2) return undefined
  const words = forms.map((form) => wordsOf(form, ownOf(form, forms, tag), tag))
  return tag === undefined
    ? `Pass one of these sets of properties: ${[...new Set(words)].join("; ")}.`
    : `Give ${[...new Set(words)].join("; or ")}.`
}
