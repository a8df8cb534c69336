/** Schemas like those in the reports that the rules cite, in other words. Each must fail before the projection and pass after it. */
import type { JsonObject } from "@effect-mcp/protocol/JsonSchema"
import type { RuleId } from "@effect-mcp/protocol/Portability"

export interface Fixture {
  readonly title: string
  readonly breaks: ReadonlyArray<RuleId>
  readonly schema: JsonObject
  /** Inputs that the schema describes. */
  readonly inputs: ReadonlyArray<JsonObject>
}

const text = { type: "string" }
const object = (properties: JsonObject, ...required: ReadonlyArray<string>): JsonObject => ({
  type: "object",
  properties,
  ...(required.length === 0 ? undefined : { required })
})

export const fixtures: ReadonlyArray<Fixture> = [
  {
    title: "A union of objects without a type at its root (anthropics/claude-code#88049)",
    breaks: ["root-type", "root-union", "root-properties"],
    schema: {
      anyOf: [
        object({ op: { const: "read" }, path: text }, "op", "path"),
        object({ op: { const: "list" }, folder: text, deep: { type: "boolean" } }, "op", "folder")
      ]
    },
    inputs: [
      { op: "read", path: "a" },
      { op: "list", folder: "b" },
      { op: "list", folder: "b", deep: true }
    ]
  },
  {
    title: "Conditions at the root (anthropics/claude-code#95504)",
    breaks: ["root-intersection"],
    schema: {
      ...object({ mode: { type: "string", enum: ["fast", "exact"] }, limit: { type: "integer" } }, "mode"),
      allOf: [
        {
          if: { properties: { mode: { const: "exact" } }, required: ["mode"] },
          then: { properties: { digits: { type: "integer" } }, required: ["digits"] }
        },
        { if: { properties: { mode: { const: "fast" } } }, then: { properties: { seed: text } } }
      ]
    },
    inputs: [
      { mode: "exact", digits: 3 },
      { mode: "fast", seed: "s" },
      { mode: "fast", limit: 1 }
    ]
  },
  {
    title: "One of several properties is required (dearlordylord/huly-mcp#66)",
    breaks: ["root-union"],
    schema: {
      ...object({ id: text, title: text, body: text }, "id"),
      anyOf: [{ required: ["title"] }, { required: ["body"] }]
    },
    inputs: [
      { id: "1", title: "t" },
      { id: "1", body: "b" },
      { id: "1", title: "t", body: "b" }
    ]
  },
  {
    title: "A definition that hosts drop (PrefectHQ/fastmcp#2808)",
    breaks: ["reference"],
    schema: {
      ...object({ category: { $ref: "#/$defs/Category", description: "Kind of item" } }, "category"),
      $defs: { Category: { type: "string", enum: ["food", "transport"] } }
    },
    inputs: [{ category: "food" }]
  },
  {
    title: "A reference to another property (kintone/mcp-server#553)",
    breaks: ["old-tuple", "reference", "unknown-keyword"],
    schema: object({
      query: {
        type: "array",
        items: [object({ word: text }, "word")],
        additionalItems: { $ref: "#/properties/query/items/0" }
      }
    }),
    inputs: [{ query: [{ word: "a" }, { word: "b" }] }]
  },
  {
    title: "A filter that contains itself (google-gemini/gemini-cli#14945)",
    breaks: ["recursion"],
    schema: {
      ...object({ filter: { $ref: "#/$defs/Filter" } }, "filter"),
      $defs: {
        Filter: {
          anyOf: [
            object({ and: { type: "array", items: { $ref: "#/$defs/Filter" } } }, "and"),
            object({ contains: text }, "contains")
          ]
        }
      }
    },
    inputs: [
      { filter: { contains: "a" } },
      { filter: { and: [{ contains: "a" }, { and: [{ and: [{ contains: "b" }] }] }] } }
    ]
  },
  {
    title: "A dialect before 2020-12 (anthropics/claude-code#586)",
    breaks: ["dialect", "reference"],
    schema: {
      $schema: "http://json-schema.org/draft-07/schema#",
      ...object({ from: { $ref: "#/definitions/Place" } }),
      definitions: { Place: object({ name: text }, "name") }
    },
    inputs: [{ from: { name: "Oslo" } }]
  },
  {
    title: "A tuple of draft 7 (hyperdxio/hyperdx#2925)",
    breaks: ["old-tuple"],
    schema: object({
      between: { type: "array", minItems: 2, maxItems: 2, items: [{ type: "number" }, { type: "number" }] }
    }),
    inputs: [{ between: [1, 2] }]
  },
  {
    title: "A boolean bound (Dokploy/mcp#74)",
    breaks: ["old-bound"],
    schema: object({ ttl: { type: "integer", exclusiveMinimum: true, minimum: 0 } }),
    inputs: [{ ttl: 1 }]
  },
  {
    title: "A tuple of 2020-12 (microsoft/vscode#244467)",
    breaks: ["tuple"],
    schema: object({
      at: { type: "array", prefixItems: [text, { type: "number" }], items: false, minItems: 2, maxItems: 2 }
    }),
    inputs: [{ at: ["x", 1] }]
  },
  {
    title: "An array of anything (digitalocean-labs/mcp-digitalocean#265)",
    breaks: ["array-items"],
    schema: object({ tags: { type: "array" } }),
    inputs: [{ tags: ["a"] }]
  },
  {
    title: "A list of types (zed-industries/zed#44875)",
    breaks: ["type-list"],
    schema: object({ name: { type: ["string", "null"], minLength: 1 } }),
    inputs: [{ name: null }, { name: "a" }]
  },
  {
    title: "Constants that are not strings (reposkein/reposkein#14)",
    breaks: ["const", "enum-value"],
    schema: object({
      hops: { anyOf: [{ const: 1 }, { const: 2 }] },
      size: { enum: [8, 16, 64] },
      answer: { enum: ["yes", null] },
      sure: { type: "boolean", enum: [true] }
    }),
    inputs: [{ hops: 2, size: 16, answer: null, sure: true }, { answer: "yes" }]
  },
  {
    title: "Exclusive bounds (pizza-bot-app/pizza-bot#62)",
    breaks: ["exclusive-bound"],
    schema: object({ count: { type: "integer", exclusiveMinimum: 0 }, ratio: { type: "number", exclusiveMaximum: 1 } }),
    inputs: [{ count: 1, ratio: 0.5 }]
  },
  {
    title: "A union with one valid member below the root (taylorwilsdon/google_workspace_mcp#1099)",
    breaks: ["one-of", "const"],
    schema: object({
      change: {
        oneOf: [
          object({ type: { const: "insert" }, text }, "type", "text"),
          object({ type: { const: "delete" } }, "type")
        ],
        discriminator: { propertyName: "type" }
      }
    }),
    inputs: [{ change: { type: "insert", text: "a" } }, { change: { type: "delete" } }]
  },
  {
    title: "An intersection below the root (makenotion/notion-mcp-server#102)",
    breaks: ["all-of"],
    schema: object({
      data: { allOf: [object({ a: { type: "integer", minimum: 1 } }, "a"), object({ a: { maximum: 5 }, b: text })] }
    }),
    inputs: [{ data: { a: 3 } }, { data: { a: 3, b: "b" } }]
  },
  {
    title: "Keywords without a place in Gemini's declarations (zendev-sh/goai#108)",
    breaks: ["unknown-keyword"],
    schema: object({
      steps: { type: "array", items: { type: "integer", multipleOf: 5 }, uniqueItems: true },
      labels: {
        type: "object",
        propertyNames: { pattern: "^[a-z]+$" },
        patternProperties: { "^x": text },
        additionalProperties: false
      }
    }),
    inputs: [{ steps: [5, 10], labels: { xa: "1" } }]
  },
  {
    title: "A pattern with lookaround (Dokploy/mcp#45)",
    breaks: ["pattern"],
    schema: object({ email: { type: "string", pattern: "^(?!\\.)[a-z.]+@[a-z.]+$" } }),
    inputs: [{ email: "a@b.c" }]
  },
  {
    title: "A format that Gemini does not know (hideya/langchain-mcp-tools-ts#36)",
    breaks: ["format"],
    schema: object({ url: { type: "string", format: "uri", description: "Where to look" } }),
    inputs: [{ url: "https://example.com/" }]
  },
  {
    title: "Names of query parameters (twilio-labs/mcp#56)",
    breaks: ["property-name"],
    schema: object({ "Date<": text, "Date>": text, Date_: text, ["long".repeat(20)]: text }, "Date<"),
    inputs: [{ "Date<": "1", "Date>": "2", Date_: "3" }]
  },
  {
    title: "A tool without arguments (inboxapi/cli#106)",
    breaks: ["root-properties"],
    schema: { type: "object" },
    inputs: [{}]
  },
  {
    title: "Schemas that are booleans",
    breaks: ["boolean-schema"],
    schema: object({ no: false, list: { type: "array", items: { anyOf: [text, false] } } }),
    inputs: [{ list: ["a"] }]
  }
]
