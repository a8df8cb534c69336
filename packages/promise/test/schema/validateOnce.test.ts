/** Schemas that wait, throw, reject or return nonsense: each value is validated once, and the server survives. */
import { withJsonSchema } from "@effect-mcp/promise"
import type { StandardJSONSchemaV1, StandardSchemaV1 } from "@standard-schema/spec"
import { assert, describe, it } from "@effect/vitest"
import * as v from "valibot"
import { z } from "zod"
import * as mini from "zod/mini"
import { boom, fatal } from "../support/fatal.ts"
import { clientOf, rejection, serverOf, textOf } from "../support/revisions.ts"

const revision = "2025-11-25"

describe("Misbehaving schemas", () => {
  const schemaOf = (validate: (value: unknown) => unknown): StandardSchemaV1 & StandardJSONSchemaV1 => {
    const jsonSchema = () => ({ type: "object", properties: { name: { type: "string" } } })
    return {
      "~standard": {
        version: 1,
        vendor: "hand-made",
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the schema is wrong on purpose
        validate: validate as StandardSchemaV1["~standard"]["validate"],
        jsonSchema: { input: jsonSchema, output: jsonSchema }
      }
    }
  }
  it.each<[string, (value: unknown) => unknown]>([
    ["throws", boom],
    ["rejects", async () => boom()],
    ["returns undefined", () => undefined],
    ["resolves to undefined", async () => undefined],
    ["returns an empty object", () => ({})],
    ["returns non-array issues", () => ({ issues: "wrong" })],
    ["returns an unreadable issue", () => ({ issues: [Object.defineProperty({}, "message", { get: boom })] })],
    ["returns a throwing thenable", () => ({ then: boom })]
  ])("A schema that %s fails its request with -32603, and the handler does not run", async (_, validate) => {
    const unhandled = fatal()
    const server = serverOf()
    let called = 0
    server.tool("input", { description: "In", input: schemaOf(validate) }, () => void called++)
    server.tool("output", { description: "Out", output: schemaOf(validate) }, () => ({ name: "a" }))
    server.prompt("prompt", { arguments: schemaOf(validate) }, () => `${called++}`)
    const client = await clientOf(server, revision)
    for (const request of [
      client.callTool("input", {}),
      client.callTool("output", {}),
      client.getPrompt("prompt", { name: "a" })
    ]) {
      const error = await rejection(request)
      assert.propertyVal(error, "code", -32603)
      assert.notInclude(String(error), "boom")
    }
    assert.strictEqual(called, 0)
    assert.deepStrictEqual(await unhandled(), [])
  })
})

describe("Asynchronous refinements", () => {
  const refused = async (): Promise<boolean> => {
    throw new Error("boom")
  }
  const object = { name: z.string() }
  it.each([
    ["zod", (check: () => Promise<boolean>) => z.object({ name: z.string().refine(check) })],
    ["zod, in a pipe", (check: () => Promise<boolean>) => z.object(object).pipe(z.object(object).refine(check))],
    ["zod, lazily", (check: () => Promise<boolean>) => z.object({ name: z.lazy(() => z.string().refine(check)) })],
    [
      "zod, by check",
      (check: () => Promise<boolean>) =>
        z.object(object).check(async (payload) => {
          if (!(await check())) payload.issues.push({ code: "custom", message: "No", input: payload.value })
        })
    ],
    [
      "zod/mini",
      (check: () => Promise<boolean>) => {
        const schema = mini.object({ name: mini.string().check(mini.refine(check)) })
        return withJsonSchema(schema, mini.toJSONSchema(schema))
      }
    ],
    [
      "valibot",
      (check: () => Promise<boolean>) => {
        const schema = v.objectAsync({ name: v.pipeAsync(v.string(), v.checkAsync(check)) })
        return withJsonSchema(schema, z.toJSONSchema(z.object(object)))
      }
    ]
  ])("A refinement in %s runs once per call and form, and can reject", async (_, schemaOf) => {
    const unhandled = fatal()
    const server = serverOf()
    let runs = 0
    const counted = (verdict: boolean) => async () => (runs++, verdict)
    const tool = (name: string, check: () => Promise<boolean>) =>
      server.tool(name, { description: name, input: schemaOf(check) }, () => name)
    tool("good", counted(true))
    tool("bad", counted(false))
    tool("reject", refused)
    server.tool(
      "ask",
      { description: "Asks" },
      async (_, { ask }) => void (await ask("Name?", schemaOf(counted(true))))
    )
    server.prompt("prompt", { arguments: schemaOf(refused) }, () => "prompt")
    assert.strictEqual(runs, 0)
    const client = await clientOf(server, revision, {
      elicitation: { form: () => ({ action: "accept", content: { name: "a" } }) }
    })
    assert.strictEqual(textOf(await client.callTool("good", { name: "a" })), "good")
    assert.strictEqual(runs, 1)
    assert.isTrue((await client.callTool("bad", { name: "a" })).isError)
    assert.strictEqual(runs, 2)
    await client.callTool("ask")
    assert.strictEqual(runs, 3)
    assert.propertyVal(await rejection(client.callTool("reject", { name: "a" })), "code", -32603)
    assert.propertyVal(await rejection(client.getPrompt("prompt", { name: "a" })), "code", -32603)
    assert.deepStrictEqual(await unhandled(), [])
  })

  it("A typed call runs an output refinement once", async () => {
    const unhandled = fatal()
    const server = serverOf()
    server.tool("name", { description: "A name", output: z.object(object) }, () => ({ name: "a" }))
    const client = await clientOf(server, revision)
    let runs = 0
    const output = z.object(object).refine(async () => (runs++, true))
    assert.deepStrictEqual(await client.callTyped("name", {}, output), { name: "a" })
    assert.strictEqual(runs, 1)
    await rejection(client.callTyped("name", {}, z.object(object).refine(refused)))
    assert.deepStrictEqual(await unhandled(), [])
  })
})
