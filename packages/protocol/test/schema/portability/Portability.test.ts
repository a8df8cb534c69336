import { assert, describe, it } from "@effect/vitest"
import { Ajv2020 } from "ajv/dist/2020.js"
import { Schema, SchemaRepresentation } from "effect"
import * as AnthropicStructuredOutput from "effect/ai/AnthropicStructuredOutput"
import * as OpenAiStructuredOutput from "effect/ai/OpenAiStructuredOutput"
import type { JsonObject } from "@effect-mcp/protocol/JsonSchema"
import * as Host from "@effect-mcp/protocol/Host"
import * as Portability from "@effect-mcp/protocol/Portability"
import { isPlainlyPortable } from "../../../src/schema/portability/isPlainlyPortable.ts"
import { fixtures } from "./fixtures.ts"
import { anthropic, gemini, openai } from "./providers.ts"

const ajv = new Ajv2020({ strict: false, validateFormats: false })
const accepts = (schema: JsonObject, value: unknown): boolean => ajv.compile(schema)(value)

const tool = (inputSchema: JsonObject) => ({ name: "tool", description: "A tool", inputSchema })

/** The names that the projection gives to properties. */
const given = (portable: Portability.Portable<Portability.Described>, input: JsonObject): JsonObject => {
  const { properties } = portable.tool.inputSchema
  const names = Object.keys(typeof properties === "object" && properties !== null ? properties : {})
  return Object.fromEntries(
    Object.entries(input).map(([key, value]) => [
      names.find((name) => Object.keys(portable.original({ [name]: 0 })).includes(key)) ?? key,
      value
    ])
  )
}

describe("A tool from a bug report", () => {
  it.each(fixtures)("$title breaks its rules", ({ breaks, schema }) => {
    const found = Portability.obstacles(tool(schema)).map(({ rule }) => rule)
    for (const rule of breaks) assert.include(found, rule)
    assert.isFalse(isPlainlyPortable({ ...tool(schema), outputSchema: undefined }))
    const refusals = [anthropic, openai, gemini].flatMap((provider) => provider(schema))
    assert.isAbove(refusals.length, 0)
  })

  it.each(fixtures)("$title is accepted by every provider after the projection", ({ schema }) => {
    const { left, removed, tool: projected } = Portability.portable(tool(schema))
    assert.isAbove(removed.length, 0)
    assert.deepStrictEqual(
      left.filter(({ rule }) => Portability.rules[rule].projectable),
      []
    )
    for (const provider of [anthropic, openai, gemini]) assert.deepStrictEqual(provider(projected.inputSchema), [])
  })

  it.each(fixtures)("$title accepts the same inputs after the projection", ({ inputs, schema }) => {
    const portable = Portability.portable(tool(schema))
    for (const input of inputs) {
      const sent = given(portable, input)
      assert.isTrue(accepts(portable.tool.inputSchema, sent), JSON.stringify(portable.tool.inputSchema))
      assert.deepStrictEqual(portable.original(sent), input)
    }
  })

  it.each(fixtures)("$title does not change when projected again", ({ schema }) => {
    const { tool: once } = Portability.portable(tool(schema))
    assert.strictEqual(Portability.portable(once).tool, once)
  })

  it.each(fixtures)("$title has a structured output form for two providers", ({ schema }) => {
    const { inputSchema } = Portability.portable(tool(schema)).tool
    const document = { dialect: "draft-2020-12", schema: inputSchema, definitions: {} } as const
    const codec = Schema.make<Schema.Codec<unknown>>(
      SchemaRepresentation.fromJsonSchemaDocument(document, {
        patterns: "apply",
        // The providers' strict modes require closed objects.
        onEnter: (node) => (node["type"] === "object" ? { ...node, additionalProperties: false } : node)
      }).ast
    )
    assert.strictEqual(OpenAiStructuredOutput.toCodecOpenAI(codec).jsonSchema["type"], "object")
    assert.strictEqual(AnthropicStructuredOutput.toCodecAnthropic(codec).jsonSchema["type"], "object")
  })
})

describe("A projected union", () => {
  it("Is one object whose descriptions group the properties that belong together", () => {
    const { inputSchema } = Portability.portable(
      tool({
        type: "object",
        anyOf: [
          {
            type: "object",
            description: "Reads a file.",
            properties: { kind: { const: "file" }, path: { type: "string", description: "Its path" } },
            required: ["kind", "path"]
          },
          {
            type: "object",
            properties: { kind: { const: "url" }, href: { type: "string" }, limit: { type: "integer" } },
            required: ["kind", "href"]
          }
        ]
      })
    ).tool
    assert.deepStrictEqual(inputSchema, {
      type: "object",
      properties: {
        kind: { type: "string", enum: ["file", "url"] },
        path: { type: "string", description: 'Its path. Required and only used with kind "file".' },
        href: { type: "string", description: 'Required and only used with kind "url".' },
        limit: { type: "integer", description: 'Only used with kind "url".' }
      },
      required: ["kind"],
      description: 'Give kind "file" (Reads a file) with path; or kind "url" with href, limit (optional).'
    })
  })

  it("Lists its forms if no property distinguishes them", () => {
    const { inputSchema } = Portability.portable(
      tool({
        anyOf: [
          {
            type: "object",
            properties: { path: { type: "string" }, line: { type: "integer" } },
            required: ["path", "line"]
          },
          { type: "object", properties: { href: { type: "string" } }, required: ["href"] }
        ]
      })
    ).tool
    assert.deepStrictEqual(inputSchema, {
      type: "object",
      properties: {
        path: { type: "string", description: "Only used with line." },
        line: { type: "integer", description: "Only used with path." },
        href: { type: "string" }
      },
      description: "Pass one of these sets of properties: path, line; href."
    })
  })

  it("Accepts any type that some form has for a property", () => {
    const { inputSchema } = Portability.portable(
      tool({
        anyOf: [
          { type: "object", properties: { value: { type: "string" } }, required: ["value"] },
          { type: "object", properties: { value: { type: "integer" } }, required: ["value"] }
        ]
      })
    ).tool
    assert.deepStrictEqual(inputSchema["properties"], { value: { anyOf: [{ type: "string" }, { type: "integer" }] } })
    assert.deepStrictEqual(inputSchema["required"], ["value"])
  })
})

describe("A tool that every host accepts", () => {
  it("Keeps its schemas unchanged", () => {
    const own = tool({
      type: "object",
      properties: {
        city: { type: "string", minLength: 1 },
        days: { type: "array", items: { anyOf: [{ type: "integer" }, { type: "null" }] } }
      },
      required: ["city"]
    })
    const { left, removed, tool: same } = Portability.portable(own)
    assert.strictEqual(same, own)
    assert.deepStrictEqual([left, removed], [[], []])
    assert.isTrue(isPlainlyPortable({ ...own, outputSchema: undefined }))
  })
})

describe("An obstacle that remains", () => {
  it("Names the location, the hosts and the fix", () => {
    const { left } = Portability.portable({ ...tool({ type: "object", properties: { x: {} } }), name: "a.b" })
    assert.deepStrictEqual(
      left.map((obstacle) => Portability.describe(obstacle)),
      [
        "name: A tool name longer than 64 characters, or with characters other than letters, digits, `_` and `-` is refused by Claude Desktop, Anthropic's API, Claude Code and Cursor. Rename the tool.",
        "inputSchema /properties/x: A value of any type is misread by Codex. Give it a type, or pass it as JSON text."
      ]
    )
  })

  it("Affects only the hosts that reject it and their model providers", () => {
    const [obstacle] = Portability.obstacles(tool({ type: "object", properties: { x: {} } }))
    assert.isDefined(obstacle)
    assert.isTrue(Portability.isBlocking(obstacle, ["codex"]))
    assert.isFalse(Portability.isBlocking(obstacle, ["claude-code", "gemini"]))
    const [union] = Portability.obstacles(tool({ type: "object", properties: {}, oneOf: [] }))
    assert.isDefined(union)
    assert.isTrue(Portability.isBlocking(union, ["claude-desktop"]))
  })

  it("Includes a reference without a target", () => {
    const { left, tool: projected } = Portability.portable(
      tool({ type: "object", properties: { a: { $ref: "#/$defs/Gone" }, b: { $ref: "other.json" } } })
    )
    assert.deepStrictEqual(
      left.map(({ at, rule }) => [rule, at]),
      [
        ["broken-reference", "/properties/a"],
        ["broken-reference", "/properties/b"]
      ]
    )
    assert.deepStrictEqual(projected.inputSchema["properties"], {
      a: { $ref: "#/$defs/Gone" },
      b: { $ref: "other.json" }
    })
  })
})

describe("An output schema", () => {
  it("Loses older dialects and cycles, which validating hosts reject", () => {
    const { left, tool: projected } = Portability.portable({
      ...tool({ type: "object", properties: {} }),
      outputSchema: {
        $schema: "http://json-schema.org/draft-07/schema#",
        type: "object",
        properties: { tree: { $ref: "#/$defs/Node" } },
        $defs: { Node: { type: "object", properties: { child: { $ref: "#/$defs/Node" } } } }
      }
    })
    assert.deepStrictEqual(left, [])
    assert.notInclude(JSON.stringify(projected.outputSchema), "$ref")
    assert.notInclude(JSON.stringify(projected.outputSchema), "$schema")
    assert.isTrue(accepts(projected.outputSchema, { tree: { child: { child: { child: {} } } } }))
  })

  it("Keeps unions, which only models reject", () => {
    const outputSchema = { anyOf: [{ type: "object" }, { type: "string", const: "none" }] }
    const own = { ...tool({ type: "object", properties: {} }), outputSchema }
    assert.strictEqual(Portability.portable(own).tool, own)
  })
})

describe("A hostile schema", () => {
  const nested = (depth: number, inner: JsonObject): JsonObject =>
    depth === 0 ? inner : { type: "object", properties: { a: nested(depth - 1, inner) } }

  it("Is read only up to a limit", () => {
    const wide = {
      type: "object",
      properties: Object.fromEntries(Array.from({ length: 30_000 }, (_, at) => [`p${at}`, {}]))
    }
    assert.isAtMost(Portability.obstacles(tool(wide)).length, 110)
    const deep = nested(2000, { const: 1 })
    assert.isDefined(Portability.portable(tool(deep)).tool)
  })

  it("Does not expand references endlessly", () => {
    const names = Array.from({ length: 40 }, (_, at) => `D${at}`)
    const definitions = names.map((name, at) => [
      name,
      { type: "object", properties: { a: { $ref: `#/$defs/D${at + 1}` }, b: { $ref: `#/$defs/D${at + 1}` } } }
    ])
    const bomb = {
      type: "object",
      properties: { x: { $ref: "#/$defs/D0" } },
      $defs: { ...Object.fromEntries(definitions), D40: { type: "string" } }
    }
    const { tool: projected } = Portability.portable(tool(bomb))
    assert.isBelow(JSON.stringify(projected.inputSchema).length, 2_000_000)
  })

  it("Can have properties named like members of Object.prototype", () => {
    const own = tool(JSON.parse('{"type":"object","properties":{"__proto__":{"const":1},"constructor":{"const":"c"}}}'))
    const { original, tool: projected } = Portability.portable(own)
    assert.deepStrictEqual(Object.keys(Object(projected.inputSchema["properties"])), ["__proto__", "constructor"])
    assert.deepStrictEqual(Object.keys(original(JSON.parse('{"__proto__":1}'))), ["__proto__"])
  })
})

describe("The rules", () => {
  it("Cite a dated source for every claim", () => {
    for (const [id, { evidence, mend, subject }] of Object.entries(Portability.rules)) {
      assert.isAbove(evidence.length, 0, id)
      assert.match(subject, /^[A-Z`]/)
      assert.match(mend, /^[A-Z]/)
      for (const { on, seen, source } of evidence) {
        assert.match(source, /^https:\/\//)
        assert.strictEqual(new Date(seen).toISOString().slice(0, 10), seen)
        assert.isTrue(Host.get(on) !== undefined || ["anthropic", "openai", "gemini"].includes(on), on)
      }
    }
  })
})
