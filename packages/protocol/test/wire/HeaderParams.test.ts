import { assert, describe, it } from "@effect/vitest"
import * as HeaderParams from "@effect-mcp/protocol/HeaderParams"

type Fields = { readonly [key: string]: unknown }
const header = (name: unknown, type: unknown = "string") => ({ type, "x-mcp-header": name })
const object = (properties: Fields, more: Fields = {}) => ({ type: "object", properties, ...more })

const reasons = (schema: Fields) =>
  HeaderParams.parse(schema).problems.map(({ at, reason }) => `${reason} /${at.join("/")}`)

describe("Header parameters of input schemas", () => {
  it("Annotated properties are header parameters at any depth, in schema order", () => {
    const schema = object({
      region: header("Region"),
      query: { type: "string" },
      options: object({ limit: header("Limit", "integer"), deep: object({ dry: header("Dry", "boolean") }) })
    })
    assert.deepStrictEqual(HeaderParams.parse(schema), {
      params: [
        { name: "Region", path: ["region"], type: "string" },
        { name: "Limit", path: ["options", "limit"], type: "integer" },
        { name: "Dry", path: ["options", "deep", "dry"], type: "boolean" }
      ],
      problems: []
    })
  })

  it("A schema without annotations has no header parameters", () => {
    for (const schema of [{ type: "object" }, object({}), object({ a: true, b: { type: "string" } })]) {
      assert.deepStrictEqual(HeaderParams.parse(schema), { params: [], problems: [] })
    }
  })

  it("Header parameter names must be HTTP tokens", () => {
    for (const name of [
      "",
      " ",
      "a b",
      "a:b",
      "a\r\nb",
      "a\n",
      "a\u0000",
      "é",
      "a(b)",
      "a/b",
      1,
      null,
      true,
      {},
      ["A"]
    ]) {
      assert.deepStrictEqual(reasons(object({ a: header(name) })), ["name /properties/a"], JSON.stringify(name))
    }
    for (const name of ["A", "X-Y", "a1", "!#$%&'*+-.^_`|~"]) {
      assert.deepStrictEqual(reasons(object({ a: header(name) })), [], name)
    }
  })

  it("Header parameters must be strings, integers or booleans", () => {
    for (const type of ["number", "object", "array", "null", undefined, ["string"], ["string", "null"]]) {
      assert.deepStrictEqual(reasons(object({ a: { type, "x-mcp-header": "A" } })), ["type /properties/a"])
    }
  })

  it("Header parameter names must differ in more than case", () => {
    const schema = object({ a: header("Region"), b: object({ c: header("REGION") }), d: header("Other") })
    assert.deepStrictEqual(reasons(schema), ["duplicate /properties/b/properties/c"])
    assert.deepStrictEqual(
      HeaderParams.parse(schema).params.map(({ name }) => name),
      ["Region", "Other"]
    )
  })

  const inside: ReadonlyArray<readonly [string, Fields]> = [
    ["items", { items: header("A") }],
    ["items/0", { items: [header("A")] }],
    ["prefixItems/0", { prefixItems: [header("A")] }],
    ["contains", { contains: header("A") }],
    ["additionalProperties", { additionalProperties: header("A") }],
    ["patternProperties/^a", { patternProperties: { "^a": header("A") } }],
    ["unevaluatedProperties", { unevaluatedProperties: header("A") }],
    ["allOf/0", { allOf: [header("A")] }],
    ["anyOf/0/properties/x", { anyOf: [object({ x: header("A") })] }],
    ["oneOf/1", { oneOf: [{}, header("A")] }],
    ["not", { not: header("A") }],
    ["if/properties/x", { if: object({ x: header("A") }) }],
    ["then", { then: header("A") }],
    ["else", { else: header("A") }],
    ["dependentSchemas/x", { dependentSchemas: { x: header("A") } }],
    ["$defs/x", { $defs: { x: header("A") } }],
    ["definitions/x", { definitions: { x: header("A") } }]
  ]
  it("Header parameters are reached only through properties", () => {
    for (const [at, more] of inside) {
      assert.deepStrictEqual(reasons(object({ p: object({}, more) })), [`unreachable /properties/p/${at}`])
    }
    assert.deepStrictEqual(reasons({ ...object({}), "x-mcp-header": "A" }), ["unreachable /"])
    assert.deepStrictEqual(reasons(object({ p: { $ref: "#/$defs/x" } }, { $defs: { x: header("A") } })), [
      "unreachable /$defs/x"
    ])
  })

  it("Data and properties named like the annotation are not header parameters", () => {
    const data = { default: header("A"), const: header("A"), enum: [header("A")], examples: [header("A")] }
    const schema = object({
      "x-mcp-header": { type: "string", ...data },
      b: { type: "string", "x-other": header("A") }
    })
    assert.deepStrictEqual(HeaderParams.parse(schema), { params: [], problems: [] })
  })

  it("Header parameters are found among any number of properties", () => {
    const many = Object.fromEntries(Array.from({ length: 200_000 }, (_, i) => [`p${i}`, {}]))
    assert.lengthOf(HeaderParams.parse(object({ ...many, a: header("A") })).params, 1)
  })

  it("Every header parameter error is reported", () => {
    const { problems } = HeaderParams.parse(object({ a: header("a b"), b: header("B", "number") }))
    assert.deepStrictEqual(
      problems.map(({ message }) => message),
      [
        'x-mcp-header "a b" at /properties/a is not a valid header name',
        'x-mcp-header "B" at /properties/b must be on a string, an integer or a boolean'
      ]
    )
  })

  it("Header parameters are allowed up to 64 levels deep and found at any depth", () => {
    const nested = (levels: number) => {
      let schema: Fields = header("A")
      for (let i = 0; i < levels; i++) schema = object({ p: schema })
      return HeaderParams.parse(schema)
    }
    assert.lengthOf(nested(64).params, 1)
    for (const levels of [65, 20_000]) {
      const { params, problems } = nested(levels)
      assert.isEmpty(params)
      assert.deepStrictEqual(
        problems.map(({ reason }) => reason),
        ["unreachable"]
      )
      assert.lengthOf(problems[0]!.at, 128)
    }
  })
})

describe("Header parameter values", () => {
  const at = (...path: ReadonlyArray<string>): HeaderParams.HeaderParam => ({ name: "A", path, type: "string" })

  it("A header parameter's value is the argument at its exact path", () => {
    assert.strictEqual(HeaderParams.valueOf(at("a"), { a: "x" }), "x")
    assert.strictEqual(HeaderParams.valueOf(at("a", "b"), { a: { b: 0 } }), 0)
    assert.strictEqual(HeaderParams.valueOf(at("a"), { a: false }), false)
    assert.strictEqual(HeaderParams.valueOf(at("a"), { a: "" }), "")
  })

  it("A header parameter's value is missing if the argument is absent or null", () => {
    for (const args of [undefined, null, {}, { a: null }, { a: [1] }, { a: "b" }, { "a/b": 1 }, [1]]) {
      assert.isUndefined(HeaderParams.valueOf(at("a", "b"), args))
    }
    assert.isUndefined(HeaderParams.valueOf(at("a"), { a: null }))
    assert.isUndefined(HeaderParams.valueOf(at("constructor"), {}))
    assert.isUndefined(HeaderParams.valueOf(at("__proto__"), {}))
  })
})
