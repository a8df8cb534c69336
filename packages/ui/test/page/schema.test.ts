import { compile } from "@effect-mcp/protocol/JsonSchemaValidator"
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { example, initial, kindOf, resembles, resolve } from "../../src/page/schema.ts"

const order = {
  type: "object",
  properties: {
    title: { type: "string", minLength: 10 },
    copies: { type: "integer", minimum: 2, multipleOf: 3 },
    gift: { type: "boolean", default: true },
    size: { enum: ["small", "large"] },
    lines: { type: "array", items: { $ref: "#/$defs/line" }, minItems: 2 },
    to: {
      oneOf: [
        { type: "object", properties: { kind: { const: "shop" }, id: { type: "integer" } }, required: ["kind", "id"] },
        { type: "object", properties: { kind: { const: "home" }, street: { type: "string" } }, required: ["kind"] }
      ]
    }
  },
  required: ["title", "copies", "lines", "to"],
  $defs: {
    line: { allOf: [{ $ref: "#/$defs/priced" }, { properties: { name: { type: "string" } }, required: ["name"] }] },
    priced: { type: "object", properties: { price: { type: "number", exclusiveMinimum: 0 } }, required: ["price"] }
  }
}

describe("Schemas of forms", () => {
  it("An example of nested arrays, unions and references matches its schema", () => {
    const validate = Result.getOrThrow(compile(order))
    assert.deepStrictEqual(validate(example(order, order)), [])
  })

  it("A form starts with defaults and required fields only", () => {
    assert.deepStrictEqual(initial(order, order), {
      title: "",
      gift: true,
      lines: [],
      to: { kind: "shop" }
    })
  })

  it("The members of a union are named after their discriminators", () => {
    const kind = kindOf(resolve(order.properties.to, order), order)
    assert.strictEqual(kind._tag, "Union")
    if (kind._tag === "Union")
      assert.deepStrictEqual(
        kind.variants.map(({ title }) => title),
        ['kind: "shop"', 'kind: "home"']
      )
  })

  it("A schema that contains itself has a finite form and example", () => {
    const loop = { type: "object", properties: { loop: { $ref: "#" } }, required: ["loop"] }
    assert.isObject(initial(loop, loop))
    assert.isObject(example(loop, loop))
  })

  it("A schema that contains itself many times has a small form and example", () => {
    const names = ["a", "b", "c", "d"]
    const properties = Object.fromEntries(names.map((name) => [name, { $ref: "#" }]))
    const tree = { type: "object", properties, required: names }
    assert.isAtMost(JSON.stringify(initial(tree, tree)).length, 20_000)
    assert.isAtMost(JSON.stringify(example(tree, tree)).length, 40_000)
  })

  it("A schema is merged once, however often it is named", () => {
    const twice = (at: number) => [{ $ref: `#/$defs/${at}` }, { $ref: `#/$defs/${at}` }]
    const $defs = Object.fromEntries(
      Array.from({ length: 40 }, (_, at) => [
        at,
        at === 39 ? { properties: { a: {} }, required: ["a"] } : { allOf: twice(at + 1) }
      ])
    )
    assert.deepStrictEqual(resolve({ $ref: "#/$defs/0" }, { $defs })["required"], ["a"])
  })

  it("The member of a union is found by type, constants and required properties", () => {
    const [shop, home] = order.properties.to.oneOf
    const resembling = (schema: unknown) => (value: unknown) => resembles(schema, order, value)
    assert.isTrue(resembling(shop)({ kind: "shop", id: 1 }))
    assert.isFalse(resembling(shop)({ kind: "home", id: 1 }))
    assert.isFalse(resembling(shop)({ kind: "shop" }))
    assert.isFalse(resembling(home)("home"))
    assert.deepStrictEqual([1, 1.5, null, "a"].map(resembling({ type: ["integer", "null"] })), [
      true,
      false,
      true,
      false
    ])
    assert.deepStrictEqual(["small", "huge"].map(resembling({ enum: ["small"] })), [true, false])
  })

  it("References that lead nowhere or in circles accept anything", () => {
    for (const $ref of ["#/$defs/none", "#/%", "#/$defs/circle", "http://elsewhere.invalid/schema"]) {
      const root = { $ref, $defs: { circle: { $ref: "#/$defs/circle" } } }
      assert.strictEqual(kindOf(resolve(root, root), root)._tag, "Json", $ref)
    }
  })
})
