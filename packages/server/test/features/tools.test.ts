/** Tools: declaration, arguments, results and failures. */
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import * as McpError from "@effect-mcp/protocol/McpError"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Data, DateTime, Effect, Layer, Schema } from "effect"
import { Base64 } from "effect/encoding"
import { serve, connect, session, everyVersion } from "../support/raw.ts"

const one = <I, O, F, H>(tool: Tool.Tool<I, O, F, H>, handler: (input: I) => Effect.Effect<H, any, any>) =>
  Tools.layer(tool, handler as (input: I) => Effect.Effect<H, never, never>)

describe("tools/list", () => {
  const Rich = Tool.make("rich.tool_1-A", {
    description: "Has everything",
    title: "Rich",
    annotations: {
      title: "Rich!",
      readOnlyHint: true,
      destructiveHint: false,
      idempotentHint: true,
      openWorldHint: false
    },
    icons: [{ src: "https://example.com/i.png", mimeType: "image/png", sizes: ["any"], theme: "dark" }],
    meta: { "example.com/key": [1] },
    input: { city: Schema.String, days: Schema.optionalKey(Schema.Int) },
    output: { report: Schema.String }
  })
  const rich = Tools.layer(Rich, ({ city }) => Effect.succeed({ report: city }))

  for (const version of everyVersion()) {
    it.effect(
      `tools/list sends only the fields that ${version} defines`,
      () =>
        Effect.gen(function* () {
          const client = yield* session(rich, { version })
          const [tool] = (yield* client.request("tools/list")).tools
          const fields = ["description", "inputSchema", "name"]
          if (version >= "2025-03-26") fields.push("annotations")
          if (version >= "2025-06-18") fields.push("title", "outputSchema", "_meta")
          if (version >= "2025-11-25") fields.push("icons")
          assert.deepStrictEqual(Object.keys(tool).toSorted(), fields.toSorted())
          assert.strictEqual(tool.inputSchema.type, "object")
          assert.deepStrictEqual(tool.inputSchema.required, ["city"])
          assert.deepInclude(tool.inputSchema.properties, { city: { type: "string" } })
          if (version >= "2025-06-18") {
            assert.strictEqual(tool.outputSchema.type, "object")
            assert.deepStrictEqual(tool._meta, { "example.com/key": [1] })
          }
          if (version >= "2025-03-26") assert.deepStrictEqual(tool.annotations, Rich.annotations)
        }),
      verifies("tools.definition.input-schema-object", "json-schema.dialect.recommended", "json-schema.valid")
    )
  }

  for (const version of everyVersion()) {
    it.effect(
      `tools/list declares that a parameterless tool takes no parameters (${version})`,
      () =>
        Effect.gen(function* () {
          const client = yield* session(
            one(Tool.make("bare", { description: "" }), () => Effect.succeed("")),
            { version }
          )
          assert.deepInclude((yield* client.request("tools/list")).tools[0].inputSchema, {
            type: "object",
            additionalProperties: false
          })
        }),
      verifies("tools.definition.no-parameters")
    )
  }

  it(
    "A tool name that is too long or has invalid characters is rejected",
    verifies("tools.name.length", "tools.name.characters", "tools.name.no-special-characters"),
    () => {
      for (const name of ["", "a b", "a,b", "a/b", "ü", "a\n", "x".repeat(129)]) {
        assert.throws(() => Tool.make(name, { description: "" }), "1 to 128", name)
      }
      for (const name of ["a", "x".repeat(128), "A_b-c.9"])
        assert.strictEqual(Tool.make(name, { description: "" }).name, name)
    }
  )

  for (const version of everyVersion()) {
    it.effect(
      `tools/list treats names as case-sensitive (${version})`,
      () =>
        Effect.gen(function* () {
          const say = (name: string) => one(Tool.make(name, { description: "" }), () => Effect.succeed(name))
          const client = yield* session(Layer.merge(say("echo"), say("Echo")), { version })
          assert.strictEqual((yield* client.call("Echo")).content[0].text, "Echo")
          assert.strictEqual((yield* client.call("echo")).content[0].text, "echo")
        }),
      verifies("tools.name.case-sensitive")
    )
  }
})

describe("Arguments", () => {
  class Blob extends Schema.Class<Blob>("Blob")({ bytes: Schema.Uint8ArrayFromBase64 }) {}
  const Everything = Tool.make("everything", {
    description: "",
    input: {
      at: Schema.DateTimeUtcFromString,
      on: Schema.Date,
      blob: Blob,
      big: Schema.BigInt,
      count: Schema.Int,
      maybe: Schema.optionalKey(Schema.String),
      set: Schema.ReadonlySet(Schema.String)
    },
    output: {
      at: Schema.DateTimeUtcFromString,
      on: Schema.Date,
      blob: Blob,
      big: Schema.BigInt,
      set: Schema.ReadonlySet(Schema.String)
    }
  })
  const wire = {
    at: "2026-01-02T03:04:05.000Z",
    on: "2026-01-02T00:00:00.000Z",
    blob: { bytes: "AAEC" },
    big: "12345678901234567890",
    set: ["a", "b"]
  }

  it.effect("Arguments are decoded and results are encoded: dates, bytes, big integers, sets", () =>
    Effect.gen(function* () {
      let seen: any
      const client = yield* session(
        Tools.layer(Everything, (input) => {
          seen = input
          const { at, on, blob, big, set } = input
          return Effect.succeed({ at, on, blob, big, set })
        })
      )
      const result = yield* client.call("everything", { ...wire, count: 3 })
      assert.isTrue(DateTime.isDateTime(seen.at))
      assert.isTrue(seen.on instanceof Date)
      assert.deepStrictEqual(seen.blob.bytes, new Uint8Array([0, 1, 2]))
      assert.strictEqual(seen.big, 12345678901234567890n)
      assert.deepStrictEqual([...seen.set], ["a", "b"])
      assert.deepStrictEqual(result.structuredContent, wire)
      assert.deepStrictEqual(JSON.parse(result.content[0].text), wire)
    })
  )

  const Add = Tool.make("add", {
    description: "",
    input: { a: Schema.Finite, b: Schema.Finite },
    output: { sum: Schema.Finite }
  })
  const add = Tools.layer(Add, ({ a, b }) => Effect.succeed({ sum: a + b }))

  for (const version of everyVersion()) {
    it.effect(
      `Invalid arguments are ${version >= "2025-11-25" ? "a result the model can read" : "answered -32602"} in ${version} and never reach the handler`,
      () =>
        Effect.gen(function* () {
          let ran = 0
          const client = yield* session(
            Tools.layer(Add, ({ a, b }) => Effect.sync(() => ({ sum: (ran++, a + b) }))),
            { version }
          )
          for (const args of [undefined, {}, { a: 1 }, { a: 1, b: "2" }, { a: 1, b: null }, { A: 1, b: 1 }]) {
            if (version >= "2025-11-25") {
              const result = yield* client.call("add", args)
              assert.isTrue(result.isError)
              assert.match(result.content[0].text, /^Invalid arguments for tool add: .* at \["[ab]"\]/)
            } else {
              const error = yield* client.refused("tools/call", { name: "add", ...(args && { arguments: args }) })
              assert.strictEqual(error.code, -32602)
              assert.notInclude(error.message, "\n")
            }
          }
          assert.strictEqual(ran, 0)
        }),
      verifies(
        "tools.security.input-validated",
        ...(version >= "2025-11-25" ? (["tools.call.invalid-input-in-result"] as const) : [])
      )
    )

    it.effect(
      `Calls without a known name or with an array of arguments fail with -32602 in ${version}`,
      () =>
        Effect.gen(function* () {
          const client = yield* session(add, { version })
          for (const params of [
            { name: "nope" },
            { name: "Add" },
            { name: "constructor" },
            {},
            { name: 1 },
            undefined
          ]) {
            assert.strictEqual((yield* client.refused("tools/call", params)).code, -32602)
          }
          const array = yield* client.refused("tools/call", { name: "add", arguments: [1, 2] })
          assert.strictEqual(array.code, -32602)
        }),
      verifies("tools.call.unknown-tool")
    )
  }
})

describe("Results", () => {
  const Sum = Tool.make("sum", { description: "", output: { sum: Schema.Int } })

  for (const version of everyVersion()) {
    it.effect(
      `Results in ${version} are structured and mirrored as text if it has structured content`,
      () =>
        Effect.gen(function* () {
          const client = yield* session(
            one(Sum, () => Effect.succeed({ sum: 3 })),
            { version }
          )
          const result = yield* client.call("sum")
          assert.deepStrictEqual(result.content, [{ type: "text", text: `{"sum":3}` }])
          assert.deepStrictEqual(result.structuredContent, version >= "2025-06-18" ? { sum: 3 } : undefined)
          assert.isUndefined(result.isError)
        }),
      version >= "2025-06-18" ? verifies("tools.result.structured-text-mirror", "tools.result.structured-conforms") : {}
    )

    it.effect(
      `Results that violate the output schema fail with a bare -32603 in ${version}`,
      () =>
        Effect.gen(function* () {
          const client = yield* session(
            one(Sum, () => Effect.succeed({ sum: 0.5 })),
            { version }
          )
          const error = yield* client.refused("tools/call", { name: "sum" })
          assert.deepStrictEqual([error.code, error.message, error.data], [-32603, "Internal error", undefined])
        }),
      version >= "2025-06-18" ? verifies("tools.result.structured-conforms") : {}
    )
  }

  it.effect("Results without an output schema are text, one or more content blocks, or a whole result", () =>
    Effect.gen(function* () {
      const say = (name: string, output: Tool.ToolOutput) =>
        one(Tool.make(name, { description: "" }), () => Effect.succeed(output))
      const block = { type: "text", text: "b", annotations: { audience: ["user"], priority: 0.5 } } as const
      const client = yield* session(
        Layer.mergeAll(
          say("text", "t"),
          say("block", block),
          say("blocks", [block, block]),
          say("none", []),
          say("whole", { content: [block], structuredContent: { a: 1 }, isError: true, _meta: { k: 1 } })
        )
      )
      assert.deepStrictEqual(yield* client.call("text"), { content: [{ type: "text", text: "t" }] })
      assert.deepStrictEqual(yield* client.call("block"), { content: [block] })
      assert.deepStrictEqual(yield* client.call("blocks"), { content: [block, block] })
      assert.deepStrictEqual(yield* client.call("none"), { content: [] })
      assert.deepStrictEqual(yield* client.call("whole"), {
        content: [block],
        structuredContent: { a: 1 },
        isError: true,
        _meta: { k: 1 }
      })
    })
  )

  const link = {
    type: "resource_link",
    uri: "menu://today",
    name: "menu",
    title: "Menu",
    mimeType: "text/plain"
  } as const
  const blocks = [
    { type: "text", text: "é\n\u2028" },
    { type: "image", data: Base64.encode(new Uint8Array([137, 80, 78, 71])), mimeType: "image/png" },
    { type: "audio", data: Base64.encode(new Uint8Array([1, 2, 3])), mimeType: "audio/wav" },
    link,
    { type: "resource", resource: { uri: "menu://today", mimeType: "text/plain", text: "soup" } },
    { type: "resource", resource: { uri: "menu://photo", mimeType: "image/png", blob: "AAEC" } }
  ] as const
  for (const version of everyVersion()) {
    it.effect(`Content types missing from ${version} are sent as text`, () =>
      Effect.gen(function* () {
        const client = yield* session(
          one(Tool.make("all", { description: "" }), () => Effect.succeed(blocks)),
          { version }
        )
        const { content } = yield* client.call("all")
        const expected: Array<unknown> = [...blocks]
        if (version < "2025-03-26") expected[2] = { type: "text", text: "[audio: audio/wav, 3 bytes]" }
        if (version < "2025-06-18") expected[3] = { type: "text", text: "[resource: Menu, menu://today]" }
        assert.deepStrictEqual(content, expected)
      })
    )
  }
})

describe("Failures", () => {
  class Full extends Schema.TaggedError<Full>()("Full", { seats: Schema.Int, until: Schema.Date }) {
    override get message() {
      return `Only ${this.seats} seats`
    }
  }
  // Deliberately named like one of the library's failures.
  class Timeout extends Schema.TaggedError<Timeout>()("Timeout", { after: Schema.Int }) {}
  class Odd extends Data.TaggedError("Odd") {}

  const Book = Tool.make("book", { description: "", failure: Schema.Union([Full, Timeout]) })

  for (const version of everyVersion()) {
    it.effect(
      `Declared failures in ${version} are results with isError and details in _meta`,
      () =>
        Effect.gen(function* () {
          const failWith = (error: Full | Timeout) => Tools.layer(Book, () => Effect.fail(error))
          const until = new Date("2026-01-02T00:00:00.000Z")
          const full = yield* session(failWith(new Full({ seats: 2, until })), { version })
          assert.deepStrictEqual(yield* full.call("book"), {
            content: [{ type: "text", text: "Only 2 seats" }],
            isError: true,
            _meta: { [Tools.failureKey]: { _tag: "Full", seats: 2, until: until.toISOString() } }
          })
          const timeout = yield* session(failWith(new Timeout({ after: 3 })), { version })
          assert.deepStrictEqual((yield* timeout.call("book"))._meta, {
            [Tools.failureKey]: { _tag: "Timeout", after: 3 }
          })
        }),
      verifies("tools.call.error-in-result")
    )
  }

  for (const version of everyVersion()) {
    it.effect(
      `Failures written for the model are results with isError (${version})`,
      () =>
        Effect.gen(function* () {
          const client = yield* session(
            Tools.layer(Tool.make("no", { description: "" }), () =>
              Effect.fail(new Tools.ToolFailure({ message: "No luck" }))
            ),
            { version }
          )
          assert.deepStrictEqual(yield* client.call("no"), {
            content: [{ type: "text", text: "No luck" }],
            isError: true
          })
        }),
      verifies("tools.call.error-in-result")
    )
  }

  it.effect("Failures that are protocol errors are sent unchanged, including their data", () =>
    Effect.gen(function* () {
      const error = new McpError.McpError({ code: 1234, message: "mine", data: { a: [1] } })
      const client = yield* session(Tools.layer(Tool.make("no", { description: "" }), () => Effect.fail(error)))
      const { code, message, data } = yield* client.refused("tools/call", { name: "no" })
      assert.deepStrictEqual({ code, message, data }, { code: 1234, message: "mine", data: { a: [1] } })
    })
  )

  it.effect("Undeclared failures are sent as -32603 without their cause", () =>
    Effect.gen(function* () {
      const tool = (name: string) => Tool.make(name, { description: "" })
      const secret = new Error("password=hunter2")
      const client = yield* session(
        Layer.mergeAll(
          one(tool("dies"), () => Effect.die(secret)),
          one(tool("throws"), () => {
            throw secret
          }),
          one(tool("fails"), () => Effect.fail(new Odd())),
          one(tool("undefined"), () => Effect.succeed(undefined as never)),
          one(tool("cycle"), () => {
            const cycle: any = {}
            cycle.self = cycle
            return Effect.succeed({ content: [], structuredContent: cycle })
          })
        )
      )
      for (const name of ["dies", "throws", "fails", "undefined", "cycle"]) {
        const { code, message, data } = yield* client.refused("tools/call", { name })
        assert.deepStrictEqual(
          { code, message, data },
          { code: -32603, message: "Internal error", data: undefined },
          name
        )
      }
      assert.deepStrictEqual(yield* client.request("ping"), {})
    })
  )
})

describe("Raw tools", () => {
  const inputSchema = {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    type: "object",
    properties: { n: { type: "integer", minimum: 1 } },
    required: ["n"],
    "x-foreign": true
  } as const
  const outputSchema = { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] } as const

  for (const version of everyVersion()) {
    it.effect(`Raw tools advertise their JSON Schemas unchanged and validate against them in ${version}`, () =>
      Effect.gen(function* () {
        const client = yield* session(
          Tools.layer(Tool.raw("raw", { description: "", inputSchema, outputSchema }), ({ n }) =>
            Effect.succeed(n === 7 ? { ok: "no" } : { ok: true, extra: 1 })
          ),
          { version },
          { portability: "off" }
        )
        const [tool] = (yield* client.request("tools/list")).tools
        assert.deepStrictEqual(tool.inputSchema, inputSchema)
        assert.deepStrictEqual(tool.outputSchema, version >= "2025-06-18" ? outputSchema : undefined)
        assert.deepStrictEqual(JSON.parse((yield* client.call("raw", { n: 1 })).content[0].text), {
          ok: true,
          extra: 1
        })
        if (version >= "2025-11-25") assert.isTrue((yield* client.call("raw", { n: 0 })).isError)
        else
          assert.strictEqual((yield* client.refused("tools/call", { name: "raw", arguments: { n: 0 } })).code, -32602)
        assert.strictEqual((yield* client.refused("tools/call", { name: "raw", arguments: { n: 7 } })).code, -32603)
      })
    )
  }
})

it.effect("Two servers sharing a features value each serve every feature", () =>
  Effect.gen(function* () {
    const features = one(Tool.make("shared", { description: "" }), () => Effect.succeed("here"))
    const clients = [yield* connect(yield* serve({ features })), yield* connect(yield* serve({ features }))]
    for (const client of clients) assert.strictEqual((yield* client.call("shared")).content[0].text, "here")
  })
)
