import { assert, describe, it } from "@effect/vitest"
import type { RequestedSchema } from "@effect-mcp/protocol/model/Elicitation"
import { verifies } from "@effect-mcp/spec/verifies"
import { Result } from "effect"
import * as Form from "@effect-mcp/cli/Form"

const schema: RequestedSchema = {
  type: "object",
  properties: {
    name: { type: "string", title: "Your name", minLength: 2 },
    mail: { type: "string", format: "email", description: "Where to write" },
    age: { type: "integer", minimum: 18, maximum: 99, default: 30 },
    news: { type: "boolean", default: true },
    size: {
      type: "string",
      oneOf: [
        { const: "s", title: "Small" },
        { const: "l", title: "Large" }
      ]
    },
    colour: { type: "string", enum: ["r", "g"], enumNames: ["Red", "Green"] },
    extras: { type: "array", items: { type: "string", enum: ["a", "b", "c"] }, minItems: 1, maxItems: 2 }
  },
  required: ["name", "size"]
}
const field = (name: string) => Form.fields(schema).find((field) => field.name === name)!
const why = <A>(result: Result.Result<A, string>) => (Result.isFailure(result) ? result.failure : "it succeeded")

describe("Form", () => {
  it("A form asks for each field in schema order, with the schema's titles", () => {
    assert.deepStrictEqual(
      Form.fields(schema).map(({ label }) => label),
      [
        "Your name",
        "mail: Where to write [email] (optional)",
        "age: [integer from 18 to 99] (optional)",
        "news: (optional)",
        "size",
        "colour: (optional)",
        "extras: (optional)"
      ]
    )
  })

  it("A form finds the choices in every revision's notation", () => {
    assert.deepStrictEqual(field("size").kind, {
      _tag: "One",
      choices: [
        { value: "s", title: "Small" },
        { value: "l", title: "Large" }
      ]
    })
    assert.deepStrictEqual(field("colour").kind, {
      _tag: "One",
      choices: [
        { value: "r", title: "Red" },
        { value: "g", title: "Green" }
      ]
    })
    assert.deepInclude(field("extras").kind, { _tag: "Many", min: 1, max: 2 })
  })

  it("A form shows the schema's defaults", verifies("elicitation.form.defaults"), () => {
    assert.strictEqual(field("age").initial, 30)
    assert.strictEqual(field("news").initial, true)
    assert.strictEqual(field("name").initial, undefined)
  })

  it("A form accepts empty text for an omitted optional field", () => {
    assert.deepStrictEqual(Form.read(field("mail"), ""), Result.succeed(undefined))
    assert.strictEqual(why(Form.read(field("name"), "")), "This is required")
  })

  it("A form validates typed input against the field's schema", verifies("elicitation.form.client-validates"), () => {
    assert.deepStrictEqual(Form.read(field("age"), "41"), Result.succeed(41))
    assert.strictEqual(why(Form.read(field("age"), "old")), `"old" is not an integer`)
    for (const [name, text] of [
      ["age", "17"],
      ["name", "x"],
      ["mail", "nowhere"],
      ["size", "m"]
    ] as const) {
      assert.isTrue(Result.isFailure(Form.read(field(name), text)), `${name}=${text}`)
    }
  })

  it("A form is filled in from --answer values and defaults", () => {
    assert.deepStrictEqual(
      Form.complete(schema, ["name=Ada", "size=l", "extras=a", "extras=b", "other=1"]),
      Result.succeed({ age: 30, news: true, name: "Ada", size: "l", extras: ["a", "b"] })
    )
    assert.deepStrictEqual(
      Form.complete(schema, ["name=Ada", "size=l", "age=40", "news=false"]),
      Result.succeed({ age: 40, news: false, name: "Ada", size: "l" })
    )
  })

  it("A form that cannot be filled in explains what is missing or wrong", () => {
    assert.strictEqual(why(Form.complete(schema, ["size=l"])), "no answer for name")
    assert.match(why(Form.complete(schema, ["name=Ada", "size=huge"])), /^size: /)
    assert.match(why(Form.complete(schema, ["name=Ada", "size=l", "extras:=[]"])), /^extras: /)
    assert.match(why(Form.complete(schema, ["name=Ada", "size=l", "age=x"])), /"x" is not an integer/)
    assert.match(why(Form.complete(schema, ["name=Ada", "size=l", "age:={}"])), /^age: /)
  })

  it("A form detects whether any answer applies to its fields", () => {
    assert.isTrue(Form.concerns(schema, ["name=x"]))
    assert.isFalse(Form.concerns(schema, ["nam=x"]))
    assert.isFalse(Form.concerns({ type: "object", properties: {} }, ["toString=x"]))
  })

  it("A form starts with the given answers when prompting for the rest", () => {
    const initial = Form.prefilled(schema, ["name=Ada"]).map(({ initial }) => initial)
    assert.deepStrictEqual(initial, ["Ada", undefined, 30, true, undefined, undefined, undefined])
  })

  it("A form escapes control characters in the server's text", () => {
    const evil: RequestedSchema = { type: "object", properties: { x: { type: "string", title: "a\u001b[2J\nb" } } }
    assert.strictEqual(Form.fields(evil)[0]?.label, "a\\u001b[2J b: (optional)")
  })
})
