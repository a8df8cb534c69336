/** Schemas of several libraries: their JSON Schemas, the values that handlers receive, and the errors of schemas without a JSON Schema. */
import { fromJsonSchema, type McpServer, withJsonSchema } from "@effect-mcp/promise"
import { assert, describe, it } from "@effect/vitest"
import { toStandardJsonSchema } from "@valibot/to-json-schema"
import { type } from "arktype"
import * as Schema from "effect/Schema"
import * as v from "valibot"
import { z } from "zod"
import * as mini from "zod/mini"
import * as z3 from "zod/v3"
import { all, clientOf, serverOf, textOf } from "../support/revisions.ts"

const revision = "2025-11-25"

/** The same tool by each library: a name of at least two letters, and an optional count. */
const offer: { readonly [library: string]: (server: McpServer) => void } = {
  zod: (server) => {
    const input = z.object({ name: z.string().min(2).describe("A name"), count: z.number().optional() })
    const output = z.object({ text: z.string() })
    server.tool("repeat", { description: "Repeats", input, output }, ({ count = 1, name }) => ({
      text: name.repeat(count)
    }))
  },
  valibot: (server) => {
    const input = toStandardJsonSchema(
      v.object({ name: v.pipe(v.string(), v.minLength(2), v.description("A name")), count: v.optional(v.number()) })
    )
    const output = toStandardJsonSchema(v.object({ text: v.string() }))
    server.tool("repeat", { description: "Repeats", input, output }, ({ count = 1, name }) => ({
      text: name.repeat(count)
    }))
  },
  arktype: (server) => {
    const input = type({ name: type("string >= 2").describe("A name"), "count?": "number" })
    const output = type({ text: "string" })
    server.tool("repeat", { description: "Repeats", input, output }, ({ count = 1, name }) => ({
      text: name.repeat(count)
    }))
  },
  effect: (server) => {
    const input = Schema.toStandardSchemaV1(
      Schema.Struct({
        name: Schema.String.check(Schema.isMinLength(2)).annotate({ description: "A name" }),
        count: Schema.optionalKey(Schema.Finite)
      })
    )
    const output = Schema.toStandardSchemaV1(Schema.Struct({ text: Schema.String }))
    server.tool("repeat", { description: "Repeats", input, output }, ({ count = 1, name }) => ({
      text: name.repeat(count)
    }))
  },
  "zod/mini": (server) => {
    const name = mini.string().check(mini.minLength(2), mini.describe("A name"))
    const input = mini.object({ name, count: mini.optional(mini.number()) })
    const output = mini.object({ text: mini.string() })
    server.tool(
      "repeat",
      {
        description: "Repeats",
        input: withJsonSchema(input, mini.toJSONSchema(input, { io: "input" })),
        output: withJsonSchema(output, mini.toJSONSchema(output))
      },
      ({ count = 1, name }) => ({ text: name.repeat(count) })
    )
  },
  "JSON Schema": (server) => {
    const input = fromJsonSchema<{ readonly name: string; readonly count?: number }>({
      type: "object",
      properties: { name: { type: "string", minLength: 2, description: "A name" }, count: { type: "number" } },
      required: ["name"]
    })
    const output = fromJsonSchema<{ readonly text: string }>({
      type: "object",
      properties: { text: { type: "string" } },
      required: ["text"]
    })
    server.tool("repeat", { description: "Repeats", input, output }, ({ count = 1, name }) => ({
      text: name.repeat(count)
    }))
  }
}

const choices: { readonly [library: string]: Parameters<Parameters<Parameters<McpServer["tool"]>[2]>[1]["ask"]>[1] } = {
  zod: z.object({
    size: z.enum(["small", "large"]),
    n: z.int().min(1).max(5),
    mail: z.email().optional(),
    yes: z.boolean()
  }),
  valibot: toStandardJsonSchema(
    v.object({
      size: v.picklist(["small", "large"]),
      n: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(5)),
      mail: v.optional(v.pipe(v.string(), v.email())),
      yes: v.boolean()
    })
  ),
  arktype: type({ size: "'small' | 'large'", n: "1 <= number.integer <= 5", "mail?": "string.email", yes: "boolean" }),
  effect: Schema.toStandardSchemaV1(
    Schema.Struct({
      size: Schema.Literals(["small", "large"]),
      n: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 5 })),
      mail: Schema.optionalKey(Schema.String),
      yes: Schema.Boolean
    })
  )
}

describe.each(Object.keys(offer))("%s schemas", (library) => {
  it("A schema is advertised, decodes arguments, validates output and explains violations", async () => {
    const server = serverOf()
    offer[library]?.(server)
    const client = await clientOf(server, revision)
    const [tool] = await all(client.listTools())
    const inputSchema: { readonly [key: string]: unknown } = tool?.inputSchema ?? {}
    const { properties, required, type } = inputSchema
    assert.deepInclude(properties, {
      name: { type: "string", minLength: library === "effect" ? 1 : 2, description: "A name" }
    })
    assert.deepStrictEqual([type, required], ["object", ["name"]])
    assert.notProperty(tool?.inputSchema, "$schema")
    assert.deepStrictEqual(tool?.outputSchema?.["required"], ["text"])
    const result = await client.callTool("repeat", { name: "ab", count: 2 })
    assert.deepStrictEqual(result.structuredContent, { text: "abab" })
    const refused = await client.callTool("repeat", { name: "a" })
    assert.isTrue(refused.isError)
    assert.include(textOf(refused), "name")
  })
})

describe.each(Object.keys(choices))("%s forms", (library) => {
  it("A form shows choices, limits and required fields", async () => {
    const server = serverOf()
    const schema = choices[library]
    server.tool("ask", { description: "Asks" }, async (_, { ask }) =>
      Object(await ask("Which?", schema ?? z.object({})))
    )
    const shown: Array<{ readonly [name: string]: unknown }> = []
    const content = { size: "small", n: 5, yes: true }
    const client = await clientOf(server, revision, {
      elicitation: {
        form: ({ requestedSchema }) => {
          shown.push(requestedSchema.properties)
          assert.sameMembers([...(requestedSchema.required ?? [])], ["size", "n", "yes"])
          return { action: "accept", content }
        }
      }
    })
    assert.deepStrictEqual(JSON.parse(textOf(await client.callTool("ask"))), content)
    const [{ n, size, yes } = {}] = shown
    const { enum: values } = { enum: [], ...(typeof size === "object" ? size : undefined) }
    assert.sameMembers(values, ["small", "large"])
    assert.deepStrictEqual([n, yes], [{ type: "integer", minimum: 1, maximum: 5 }, { type: "boolean" }])
  })
})

describe("Rejected schemas", () => {
  const refusal = (input: any): string => {
    try {
      serverOf().tool("t", { description: "T", input }, () => "")
    } catch (error) {
      return error instanceof TypeError ? error.message : String(error)
    }
    return "It was accepted"
  }

  it("A schema without a JSON Schema is rejected with its library and a fix", () => {
    assert.strictEqual(
      refusal(z3.object({ a: z3.string() })),
      'The input of the tool "t" is a schema from zod 3 without JSON Schema support. Install zod 4.2 or newer and import it from "zod"'
    )
    const { "~standard": _none, ...older } = Object.assign(Object.create({ safeParse: () => undefined }), { _def: {} })
    assert.include(
      refusal(Object.assign(Object.create({ safeParse: () => undefined }), older)),
      "but is a zod 3 schema"
    )
    assert.include(refusal(mini.object({ a: mini.string() })), "withJsonSchema(schema, z.toJSONSchema(schema))")
    assert.include(refusal(v.object({ a: v.string() })), "Wrap it with toStandardJsonSchema(schema)")
    const foreign = { "~standard": { version: 1, vendor: "other", validate: () => ({ value: {} }) } }
    assert.include(refusal(foreign), "is a schema from other without JSON Schema support. Use zod 4.2")
    assert.include(
      refusal({ type: "object" }),
      "must be a Standard Schema with JSON Schema support, but is a value of type object. Use zod"
    )
    assert.include(refusal(null), "is a value of type null")
  })

  it("A schema is rejected for values JSON cannot represent, or a non-object input", () => {
    assert.match(
      refusal(z.object({ at: z.date() })),
      /^The input of the tool "t" cannot be converted to JSON Schema: .*JSON can represent$/
    )
    assert.strictEqual(
      refusal(z.string()),
      'The input of the tool "t" must describe a JSON object, but has the type "string"'
    )
  })

  it("A schema is rejected for prompt arguments that are not strings", () => {
    const server = serverOf()
    assert.throws(
      () => server.prompt("p", { arguments: z.object({ n: z.number() }) }, () => ""),
      'The arguments of the prompt "p": "n" is of type "number", but prompt arguments are sent as strings'
    )
    server.prompt("q", { arguments: z.object({ n: z.coerce.number(), e: z.enum(["a", "b"]) }) }, () => "")
  })

  it("An asynchronously validating schema is accepted and rejects arguments in its own time", async () => {
    const server = serverOf()
    const input = z.object({ name: z.string().refine(async (name) => name !== "taken", "is taken") })
    server.tool("register", { description: "Registers", input }, ({ name }) => `Hello ${name}`)
    const client = await clientOf(server, revision)
    assert.strictEqual(textOf(await client.callTool("register", { name: "ada" })), "Hello ada")
    assert.include(textOf(await client.callTool("register", { name: "taken" })), 'is taken at ["name"]')
  })
})
