import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import * as JsonSchemaValidator from "@effect-mcp/protocol/JsonSchemaValidator"
import { verifies } from "@effect-mcp/spec/verifies"

const compile = (schema: unknown, options?: JsonSchemaValidator.Options) =>
  Result.getOrThrow(JsonSchemaValidator.compile(schema, options))
const refusal = (schema: unknown, options?: JsonSchemaValidator.Options) =>
  Result.getOrThrow(Result.flip(JsonSchemaValidator.compile(schema, options)))

const validated = (schema: unknown, value: unknown) => Result.getOrThrow(JsonSchemaValidator.compile(schema))(value)

const nested = (depth: number, wrap: (inner: unknown) => unknown): unknown => {
  let out: unknown = {}
  for (let i = 1; i < depth; i++) out = wrap(out)
  return out
}
const chain = (length: number) => ({
  $ref: "#/$defs/0",
  $defs: Object.fromEntries(Array.from({ length }, (_, i) => [i, i === length - 1 ? {} : { $ref: `#/$defs/${i + 1}` }]))
})
const level = (i: number) => ({ allOf: [{ $ref: `#/$defs/${i + 1}` }, { $ref: `#/$defs/${i + 1}` }] })

describe("JsonSchemaValidator", () => {
  const draft07 = "http://json-schema.org/draft-07/schema#"
  const cases: ReadonlyArray<
    readonly [what: string, schema: unknown, valid: ReadonlyArray<unknown>, invalid: ReadonlyArray<unknown>]
  > = [
    ["boolean schemas", true, [1, null, {}], []],
    ["the empty schema", {}, [1, null, {}], []],
    ["the false schema", false, [], [1, null, {}]],
    ["types", { type: ["integer", "null"] }, [1, 1.0, null], [1.5, "1", [], true]],
    ["constants and enumerations", { enum: [{ a: [1] }, null] }, [{ a: [1] }, null], [{ a: [2] }, {}, "null"]],
    ["numbers", { exclusiveMinimum: 0, maximum: 1, multipleOf: 0.1 }, [0.3, 1, "no number"], [0, 1.1, 0.25]],
    ["lengths in code points", { minLength: 2, maxLength: 2 }, ["ab", "😀😀"], ["a", "😀", "abc"]],
    ["patterns", { pattern: "^a\\p{L}$" }, ["aé"], ["a1"]],
    [
      "required and closed objects",
      { properties: { a: true }, required: ["a"], additionalProperties: false },
      [{ a: 1 }],
      [{}, { a: 1, b: 2 }]
    ],
    ["pattern properties", { patternProperties: { "^x": { type: "number" } } }, [{ x1: 1, y: "" }], [{ x1: "" }]],
    ["property names", { propertyNames: { maxLength: 1 } }, [{ a: 1 }], [{ ab: 1 }]],
    ["tuples", { prefixItems: [{ type: "string" }], items: { type: "number" } }, [["a", 1, 2], []], [["a", "b"], [1]]],
    ["contains", { contains: { const: 1 }, minContains: 2, maxContains: 2 }, [[1, 1, 0]], [[1], [1, 1, 1]]],
    ["unique items", { uniqueItems: true }, [[1, "1", { a: 1 }]], [[{ a: 1 }, { a: 1 }]]],
    [
      "conditions",
      {
        if: { properties: { k: { const: 1 } }, required: ["k"] },
        // oxlint-disable-next-line no-thenable -- a keyword of JSON Schema
        then: { required: ["a"] },
        else: { required: ["b"] }
      },
      [{ k: 1, a: 0 }, { b: 0 }],
      [{ k: 1, b: 0 }, { a: 0 }]
    ],
    ["combinations", { oneOf: [{ multipleOf: 2 }, { multipleOf: 3 }], not: { const: 4 } }, [2, 3, 8], [4, 6, 5]],
    [
      "2020-12 dependencies",
      { dependentRequired: { a: ["b"] }, dependentSchemas: { c: { minProperties: 2 } } },
      [{ a: 1, b: 1 }, {}],
      [{ a: 1 }, { c: 1 }]
    ],
    [
      "unevaluated properties across combinations",
      { allOf: [{ properties: { a: true } }], properties: { b: true }, unevaluatedProperties: false },
      [{ a: 1, b: 1 }],
      [{ c: 1 }]
    ],
    [
      "unevaluated items",
      { prefixItems: [true], anyOf: [{ prefixItems: [true, { const: 2 }] }, true], unevaluatedItems: false },
      [[1], [1, 2]],
      [[1, 3]]
    ],
    [
      "references and recursion",
      { $ref: "#/$defs/a~1b", $defs: { "a/b": { type: "array", items: { $ref: "#" } } } },
      [[], [[], [[]]]],
      [1, [1]]
    ],
    ["anchors", { $ref: "#here", $defs: { x: { $anchor: "here", type: "string" } } }, ["a"], [1]],
    [
      "dynamic references within one resource",
      { $dynamicAnchor: "node", type: "object", properties: { child: { $dynamicRef: "#node" } } },
      [{ child: { child: {} } }],
      [{ child: { child: 1 } }]
    ],
    [
      "embedded resources",
      { $id: "https://example.test/root", $ref: "item", $defs: { i: { $id: "item", type: "string" } } },
      ["a"],
      [1]
    ],
    [
      "Object.prototype names",
      JSON.parse(`{ "properties": { "__proto__": { "type": "number" } }, "required": ["constructor"] }`),
      [{ constructor: 1 }, JSON.parse(`{ "constructor": 1, "__proto__": 1 }`)],
      [{}, JSON.parse(`{ "constructor": 1, "__proto__": "" }`)]
    ],
    ["formats, as annotations", { format: "email" }, ["no email", 1], []],
    [
      "draft-07 tuples",
      { $schema: draft07, items: [{ type: "string" }], additionalItems: false },
      [["a"]],
      [[1], ["a", 1]]
    ],
    [
      "draft-07 dependencies",
      { $schema: draft07, dependencies: { a: ["b"], c: { required: ["d"] } } },
      [{ a: 1, b: 1 }],
      [{ a: 1 }, { c: 1 }]
    ],
    [
      "draft-07 references, which override their siblings",
      { $schema: draft07, $ref: "#/definitions/s", minLength: 5, definitions: { s: { type: "string" } } },
      ["a"],
      [1]
    ],
    [
      "only the dialect's keywords",
      { $schema: draft07, prefixItems: [false], unevaluatedProperties: false },
      [[1], { a: 1 }],
      []
    ]
  ]
  for (const [what, schema, valid, invalid] of cases) {
    it(`JsonSchemaValidator supports ${what}`, () => {
      const validate = compile(schema)
      for (const value of valid) assert.deepStrictEqual(validate(value), [], JSON.stringify(value))
      for (const value of invalid) assert.isNotEmpty(validate(value), JSON.stringify(value))
    })
  }

  it(
    "JsonSchemaValidator defaults to dialect 2020-12 unless a schema declares another",
    verifies("json-schema.dialect.default", "json-schema.dialect.validated"),
    () => {
      const tuple = { prefixItems: [{ type: "string" }] }
      assert.isNotEmpty(compile(tuple)([1]))
      assert.isNotEmpty(compile({ $schema: "https://json-schema.org/draft/2020-12/schema", ...tuple })([1]))
      assert.deepStrictEqual(compile({ $schema: draft07, ...tuple })([1]), [])
    }
  )

  it("JsonSchemaValidator checks formats on request and ignores unknown ones", () => {
    assert.isNotEmpty(compile({ format: "email" }, { formats: true })("no email"))
    assert.deepStrictEqual(compile({ format: "unheard-of" }, { formats: true })("x"), [])
  })

  it("JsonSchemaValidator reports briefly where and why a value is invalid", () => {
    const validate = compile({
      type: "object",
      properties: {
        a: { $ref: "#/$defs/n" },
        "b/c %": { items: { type: "string" } },
        d: { anyOf: [{ type: "string" }, { properties: { e: { type: "string" } }, required: ["f"] }] }
      },
      required: ["z"],
      additionalProperties: false,
      $defs: { n: { type: "number" } }
    })
    assert.deepStrictEqual(validate({ a: "1", "b/c %": ["", 2], d: { e: 1 }, x: 1 }), [
      { path: "", message: 'Instance does not have required property "z".' },
      { path: "/a", message: 'Instance type "string" is invalid. Expected "number".' },
      { path: "/b~1c %/1", message: 'Instance type "number" is invalid. Expected "string".' },
      { path: "/d", message: "Instance does not match any subschemas." },
      { path: "", message: 'Property "x" does not match additional properties schema.' }
    ])
    assert.deepStrictEqual(compile(false)(1), [{ path: "", message: "False boolean schema." }])
  })

  it("JsonSchemaValidator reports at most ten violations of up to 200 characters each", () => {
    const violations = compile({ items: { enum: ["x".repeat(1000)] } })(Array.from({ length: 200_000 }, () => 1))
    assert.isAtMost(violations.length, 10)
    assert.isNotEmpty(violations)
    for (const { message } of violations) assert.isAtMost(message.length, 200)
    assert.lengthOf(compile({ items: { type: "string" } })(Array.from({ length: 50 }, () => 1)), 10)
  })

  const refused: ReadonlyArray<readonly [what: string, schema: unknown, path: string, reason: RegExp]> = [
    ["values that are not schemas", [], "", /object or a boolean/],
    ["other dialects", { $schema: "http://json-schema.org/draft-04/schema#" }, "/$schema", /draft-04/],
    ["a subschema with its own dialect", { items: { $schema: draft07 } }, "/items", /two JSON Schema dialects/],
    ["remote references", { items: { $ref: "https://example.test/x.json" } }, "/items", /references are never fetched/],
    ["dangling references", { $ref: "#/$defs/missing" }, "", /is not in this schema/],
    ["references into non-schemas", { $ref: "#/default", default: {} }, "", /is not in this schema/],
    ["references that are not URIs", { $ref: "http://[" }, "", /URL/],
    ["self-references", { $ref: "#" }, "", /back to itself/],
    [
      "circular references",
      { $ref: "#/$defs/a", $defs: { a: { anyOf: [{ $ref: "#/$defs/b" }] }, b: { not: { $ref: "#/$defs/a" } } } },
      "",
      /back to itself/
    ],
    [
      "dynamic references across resources",
      { $dynamicRef: "#a", $defs: { a: { $id: "x", $dynamicAnchor: "a" } } },
      "/$dynamicRef",
      /several/
    ],
    ["two names at once", { $anchor: "a", $dynamicAnchor: "b" }, "/$dynamicAnchor", /next to/],
    ["patterns with a backreference", { pattern: "(a)\\1" }, "/pattern", /backreferences/],
    [
      "property patterns that may never terminate",
      { patternProperties: { "^(a+)+$": true } },
      "/patternProperties/^(a+)+$",
      /exponential/
    ],
    ["patterns that are not regular expressions", { pattern: "(" }, "/pattern", /pattern/],
    [
      "properties that are not regular expressions",
      { patternProperties: { "(": true } },
      "/patternProperties",
      /patternProperties/
    ],
    ["unknown types", { type: "strin" }, "/type", /strin/],
    ["malformed keywords", { properties: { a: { required: "a" } } }, "/properties/a/required", /required/]
  ]
  for (const [what, schema, path, reason] of refused) {
    it(
      `JsonSchemaValidator rejects ${what} at compile time with a typed error`,
      what === "other dialects"
        ? verifies("json-schema.dialect.unsupported")
        : what === "remote references"
          ? verifies("tools.security.references")
          : {},
      () => {
        const error = refusal(schema)
        assert.strictEqual(error._tag, "UnsupportedSchema")
        assert.strictEqual(error.path, path)
        assert.match(error.reason, reason)
      }
    )
  }

  it("JsonSchemaValidator rejects values with too many names for patternProperties", () => {
    const names = (count: number, name: string) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`${name}${index}`, 1]))
    const slow = { patternProperties: Object.fromEntries(["b", "c", "d"].map((end) => [`^a*a*${end}`, true])) }
    const long = names(1000, "a".repeat(900))
    assert.match(validated(slow, long)[0]?.message ?? "", /too many properties/)
    const $defs = { p: { patternProperties: { "^a*b": true } } }
    const often = { $defs, allOf: Array.from({ length: 1000 }, () => ({ $ref: "#/$defs/p" })) }
    assert.match(validated(often, long)[0]?.message ?? "", /too many properties/)
    const usual = { patternProperties: { "^[a-z]+-\\d+$": { type: "number" }, ".*x": true } }
    assert.deepStrictEqual(validated(usual, names(10_000, "name-")), [])
  })

  it("JsonSchemaValidator limits a schema's patterns as a whole", () => {
    const patterns = (count: number) => ({ anyOf: Array.from({ length: count }, () => ({ pattern: "^.{1,1000}$" })) })
    assert.isTrue(Result.isSuccess(JsonSchemaValidator.compile(patterns(50))))
    assert.match(refusal(patterns(1000)).reason, /too large in total/)
    assert.match(refusal({ pattern: ".".repeat(200_000) }).reason, /100000 characters/)
  })

  it("JsonSchemaValidator limits the depth of schemas and values", () => {
    assert.isTrue(Result.isSuccess(JsonSchemaValidator.compile(nested(64, (items) => ({ items })))))
    assert.match(refusal(nested(65, (items) => ({ items }))).reason, /deeper than 64/)
    assert.match(
      refusal(
        nested(3, (items) => ({ items })),
        { maxDepth: 2 }
      ).reason,
      /deeper than 2/
    )
    const validate = compile(true)
    assert.deepStrictEqual(validate(nested(64, (a) => ({ a }))), [])
    assert.strictEqual(validate(nested(100_000, (a) => ({ a })))[0]?.message, "Is nested too deeply.")
  })

  it("JsonSchemaValidator limits reference chains and the number of subschemas", () => {
    assert.isTrue(Result.isSuccess(JsonSchemaValidator.compile(chain(60))))
    assert.match(refusal(chain(5000)).reason, /64 references/)
    assert.match(refusal({ allOf: Array.from({ length: 20_000 }, () => ({})) }).reason, /10000 subschemas/)
  })

  it("JsonSchemaValidator stops a small schema that would take exponential time", () => {
    const defs = Object.fromEntries(Array.from({ length: 30 }, (_, i) => [i, i === 29 ? {} : level(i)]))
    assert.match(compile({ $ref: "#/$defs/0", $defs: defs })(1)[0]?.message ?? "", /too complex/)
    // The same through the value: every level of it doubles the work.
    const both = { properties: { a: { $ref: "#" } } }
    const validate = compile({ allOf: [both, both] })
    assert.match(validate(nested(60, (a) => ({ a })))[0]?.message ?? "", /too complex/)
    assert.deepStrictEqual(validate(nested(6, (a) => ({ a }))), [])
  })

  it("JsonSchemaValidator matches patterns without catastrophic backtracking", () => {
    const text = `${"a".repeat(100_000)}!`
    for (const pattern of ["^(a+)+$", "^(a|a)*$", "^(.*a){10}$", "a*a*a*a*b"]) {
      assert.deepStrictEqual(compile({ pattern })(text), [{ path: "", message: "String does not match pattern." }])
    }
    assert.match(compile({ pattern: "^(?:a(?=a*!))*$" })(text)[0]?.message ?? "", /Cannot be checked/)
    const keyed = compile({ patternProperties: { "a+b": true } })
    assert.match(keyed({ [text]: 1 })[0]?.message ?? "", /more than 1000/)
  })

  it("JsonSchemaValidator checks a pattern and a format on one schema, and ignores slow formats", () => {
    const validator = compile({ pattern: "^2026", format: "date" }, { formats: true })
    assert.deepStrictEqual(
      ["2026-02-01", "2025-02-01", "2026-02-31"].map((date) => validator(date).length),
      [0, 1, 1]
    )
    assert.deepStrictEqual(compile({ format: "url" }, { formats: true })(`http://${"a".repeat(50)}!`), [])
  })

  it("JsonSchemaValidator does not compare the items of very long arrays", () => {
    const validate = compile({ properties: { a: { uniqueItems: true } } })
    const { maxUniqueItems } = JsonSchemaValidator
    assert.strictEqual(validate({ a: Array.from({ length: maxUniqueItems + 1 }, (_, i) => i) })[0]?.path, "/a")
    assert.deepStrictEqual(validate({ a: Array.from({ length: maxUniqueItems }, (_, i) => i) }), [])
  })

  it("JsonSchemaValidator reports where a value is not JSON", () => {
    const validate = compile(true)
    assert.deepStrictEqual(validate(undefined), [{ path: "", message: "Is not valid JSON." }])
    assert.strictEqual(validate({ a: [1, Number.NaN] })[0]?.path, "/a/1")
    assert.strictEqual(validate({ "a/b": { c: 1n } })[0]?.path, "/a~1b/c")
    assert.match(validate({ a: { "\ud800": 1 } })[0]?.message ?? "", /not valid Unicode/)
  })

  it("JsonSchemaValidator does not modify its schema", () => {
    const schema = Object.freeze({ $ref: "#/$defs/a", $defs: Object.freeze({ a: Object.freeze({ type: "string" }) }) })
    const before = JSON.stringify(schema)
    assert.deepStrictEqual(compile(schema)("a"), [])
    assert.strictEqual(JSON.stringify(schema), before)
  })
})
