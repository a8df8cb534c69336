/** `Contract.diff`: how a change of a contract affects clients. */
import * as JsonSchemaValidator from "@effect-mcp/protocol/JsonSchemaValidator"
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Contract from "@effect-mcp/server/Contract"
import { scaled } from "@effect-mcp/spec/Scale"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"
import * as Arbitrary from "effect/Arbitrary"

const empty = Effect.runSync(Contract.fromText(`{ "name": "s", "extensions": [] }`))
const tool = (fields: object): Partial<Contract.Contract> => ({
  tools: [{ name: "t", inputSchema: { type: "object" }, ...fields }]
})
const input = (properties: object, required: ReadonlyArray<string> = [], rest: object = {}) =>
  tool({ inputSchema: { type: "object", properties, required, ...rest } })
const output = (properties: object, required: ReadonlyArray<string> = [], rest: object = {}) =>
  tool({ outputSchema: { type: "object", properties, required, ...rest } })
const prompt = (...args: ReadonlyArray<{ name: string; required?: boolean; description?: string }>) => ({
  prompts: [{ name: "p", arguments: args }]
})
const resource = (fields: object = {}) => ({ resources: [{ uri: "a:b", name: "r", ...fields }] })
const template = (fields: object = {}) => ({ resourceTemplates: [{ uriTemplate: "a:{b}", name: "r", ...fields }] })
const extension = (fields: object = {}) => ({
  extensions: [
    { id: "x/y", settings: {}, requests: [], questions: [], notifications: [], subscriptions: [], ...fields }
  ]
})
const method = (fields: object = {}) => ({ method: "x/m", params: { type: "object" }, result: {}, ...fields })
const text = { type: "string" }
const closed = { additionalProperties: false }

type Part = Partial<Contract.Contract>
/** A change as `[is breaking, message]`. */
type Expected = readonly [boolean, string]
const harmless = false
const breaking = true

const cases: ReadonlyArray<readonly [before: Part, after: Part, ...expected: ReadonlyArray<Expected>]> = [
  [extension(), extension({ meta: [{ key: "x/k", value: text }] }), [harmless, 'The key of _meta "x/k" is new']],
  [extension({ meta: [{ key: "x/k", value: text }] }), extension(), [breaking, 'The key of _meta "x/k" was removed']],
  [{}, { name: "z" }, [harmless, "The server changed its name"]],
  [{}, { instructions: "Hm" }, [harmless, "The server changed its instructions"]],
  [{}, tool({}), [harmless, 'The tool "t" is new']],
  [tool({}), {}, [breaking, 'The tool "t" was removed']],
  [tool({}), tool({ name: "u" }), [breaking, 'The tool "t" was removed'], [harmless, 'The tool "u" is new']],
  [tool({}), tool({ description: "d" }), [harmless, 'The tool "t" changed its description']],
  [tool({}), tool({ annotations: {} }), [harmless, 'The tool "t" changed its annotations']],
  [tool({}), tool({ execution: { taskSupport: "required" } }), [breaking, 'The tool "t" changed its execution']],
  [tool({}), tool({ constructor: 1 }), [breaking, 'The tool "t" changed its constructor']],
  [input({}), input({ a: text }), [harmless, 'The tool "t" accepts "a"']],
  [input({}), input({ a: text }, ["a"]), [breaking, 'The tool "t" requires "a"']],
  [input({}), input({}, ["a"]), [breaking, 'The tool "t" requires "a"']],
  [input({ a: text }), input({}), [breaking, 'The tool "t" no longer accepts "a"']],
  [input({ a: text }, ["a"]), input({ a: text }), [harmless, 'The tool "t" no longer requires "a"']],
  [input({ a: text }), input({ a: { type: "integer" } }), [breaking, 'The tool "t" changed its "a"']],
  [
    input({ a: text }),
    input({ a: { ...text, title: "A" } }),
    [harmless, 'The tool "t" changed the documentation of "a"']
  ],
  [
    input({ a: { properties: { title: text } } }),
    input({ a: { properties: {} } }),
    [breaking, 'The tool "t" changed its "a"']
  ],
  [
    input({ a: { dependentRequired: { title: ["b"] } } }),
    input({ a: { dependentRequired: {} } }),
    [breaking, 'The tool "t" changed its "a"']
  ],
  [input({ a: { const: { title: 1 } } }), input({ a: { const: {} } }), [breaking, 'The tool "t" changed its "a"']],
  [
    input({}, [], closed),
    input({ a: text }),
    [harmless, 'The tool "t" accepts "a"'],
    [harmless, 'The tool "t" changed its input schema']
  ],
  [input({}), input({}, [], closed), [breaking, 'The tool "t" changed its input schema']],
  [input({}), input({}, [], { title: "T" }), [harmless, 'The tool "t" changed its input schema']],
  [input({}, ["a", "b"]), input({}, ["b", "a"]), [harmless, 'The tool "t" changed its inputSchema']],
  [tool({}), output({}), [harmless, 'The tool "t" now has an output schema']],
  [output({}), tool({}), [breaking, 'The tool "t" no longer has an output schema']],
  [output({}), output({ a: text }), [harmless, 'The tool "t" returns "a"']],
  [output({}, [], closed), output({ a: text }, [], closed), [breaking, 'The tool "t" returns "a"']],
  [output({}), output({ a: text }, ["a"]), [harmless, 'The tool "t" always returns "a"']],
  [output({ a: text }), output({}), [breaking, 'The tool "t" no longer returns "a"']],
  [output({ a: text }, ["a"]), output({ a: text }), [breaking, 'The tool "t" may omit "a"']],
  [output({}), output({}, [], closed), [harmless, 'The tool "t" changed its output schema']],
  [prompt(), prompt({ name: "a" }), [harmless, 'The prompt "p" accepts "a"']],
  [prompt(), prompt({ name: "a", required: true }), [breaking, 'The prompt "p" requires "a"']],
  [prompt({ name: "a" }), prompt(), [breaking, 'The prompt "p" no longer accepts "a"']],
  [
    prompt({ name: "a" }),
    prompt({ name: "a", description: "A" }),
    [harmless, 'The prompt "p" changed the documentation of "a"']
  ],
  [
    prompt({ name: "a" }, { name: "b" }),
    prompt({ name: "b" }, { name: "a" }),
    [harmless, 'The prompt "p" changed its arguments']
  ],
  [resource(), {}, [breaking, 'The resource "a:b" was removed']],
  [resource(), resource({ mimeType: "a/b" }), [breaking, 'The resource "a:b" changed its mimeType']],
  [resource(), resource({ size: 1 }), [harmless, 'The resource "a:b" changed its size']],
  [template(), {}, [breaking, 'The resource template "a:{b}" was removed']],
  [template(), template({ name: "n" }), [harmless, 'The resource template "a:{b}" changed its name']],
  [extension(), {}, [breaking, 'The extension "x/y" was removed']],
  [extension(), extension({ settings: { a: 1 } }), [breaking, 'The extension "x/y" changed its settings']],
  [extension(), extension({ requests: [method()] }), [harmless, 'The method "x/m" is new']],
  [extension(), extension({ questions: [method()] }), [breaking, 'The question "x/m" is new']],
  [extension({ questions: [method()] }), extension(), [breaking, 'The question "x/m" was removed']],
  [
    extension({ requests: [method()] }),
    extension({ requests: [method({ failureCode: 1 })] }),
    [breaking, 'The method "x/m" changed its failureCode']
  ],
  [
    extension({ notifications: [{ method: "n", from: "client", params: {} }] }),
    extension({ notifications: [{ method: "n", from: "server", params: {} }] }),
    [breaking, 'The notification "n" changed its from']
  ],
  [
    extension({ subscriptions: [{ key: "k", filter: {} }] }),
    extension({ subscriptions: [{ key: "k", filter: { type: "array" } }] }),
    [breaking, 'The subscription "k" changed its filter']
  ]
]

describe("Contract diffs", () => {
  it.each(
    cases.map(([before, after, ...expected]) => ({
      before,
      after,
      expected,
      title: expected.map(([isBreaking, message]) => `${message}: ${isBreaking ? "breaking" : "harmless"}`).join("; ")
    }))
  )("$title", ({ after, before, expected }) => {
    const changes = Contract.diff({ ...empty, ...before }, { ...empty, ...after })
    assert.deepStrictEqual(
      changes.map(({ breaking, message }): Expected => [breaking, message]),
      expected
    )
    for (const { kind, message } of changes) {
      assert.strictEqual(
        kind,
        message.endsWith(" is new") ? "added" : message.endsWith(" was removed") ? "removed" : "changed"
      )
    }
  })
})

const Small = Schema.Struct({
  a: Schema.Literals(["absent", "string", "integer"]),
  b: Schema.Literals(["absent", "string", "integer"]),
  required: Schema.Array(Schema.Literals(["a", "b"])).check(Schema.isMaxLength(2)),
  isClosed: Schema.Boolean,
  title: Schema.Literals(["absent", "T"])
})
type Small = typeof Small.Type

const propertiesOf = ({ a, b }: Small): JsonObject =>
  Object.fromEntries(Object.entries({ a, b }).flatMap(([name, type]) => (type === "absent" ? [] : [[name, { type }]])))
const schemaOf = (small: Small) => ({
  type: "object" as const,
  properties: propertiesOf(small),
  required: [...new Set(small.required)],
  ...(small.isClosed ? closed : undefined),
  ...(small.title === "absent" ? undefined : { title: small.title })
})
const values = [undefined, "text", 7]
const objects = values.flatMap((a) =>
  values.map((b) => ({ ...(a === undefined ? undefined : { a }), ...(b === undefined ? undefined : { b }) }))
)
const accepts = (schema: JsonObject) => {
  const validate = Result.getOrThrow(JsonSchemaValidator.compile(schema))
  return (value: unknown) => validate(value).length === 0
}

describe("Schema diffs", () => {
  it.prop(
    "A schema change is breaking unless one schema accepts every value of the other",
    [Arbitrary.schema(Small), Arbitrary.schema(Small)],
    ([one, two]) => {
      const [old, now] = [schemaOf(one), schemaOf(two)]
      /** Objects with only the properties that the schema names, as a program writes or reads them. */
      const declared = (small: Small) =>
        objects.filter((object) => Object.keys(object).every((name) => Object.hasOwn(propertiesOf(small), name)))
      const isWithin = (inner: JsonObject, outer: JsonObject, objects: ReadonlyArray<object>) =>
        objects.filter(accepts(inner)).every(accepts(outer))
      const changes = (fields: (schema: JsonObject) => Part) => {
        const [before, after] = [old, now].map((schema) => ({ ...empty, ...fields(schema) }))
        const found = Contract.diff(before!, after!)
        assert.strictEqual(found.length === 0, Contract.toText(before!) === Contract.toText(after!))
        return found
      }
      const isHarmless = (found: ReadonlyArray<Contract.Change>) => !found.some(({ breaking }) => breaking)
      if (isHarmless(changes((inputSchema) => tool({ inputSchema })))) assert.isTrue(isWithin(old, now, declared(one)))
      if (isHarmless(changes((outputSchema) => tool({ outputSchema }))))
        assert.isTrue(isWithin(now, old, declared(two)))
    },
    { arbitrary: { runs: scaled(300, 20_000) } }
  )
})
