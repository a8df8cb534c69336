import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"

// The envelope as schemas, which `classify` must agree with on every JSON value.
const version = { jsonrpc: Schema.Literal("2.0") }
const Id = Schema.Union([Schema.String, Schema.Int])
const absent = Schema.optionalKey(Schema.Never)
const params = { params: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown)) }
const code = Schema.Number.check(Schema.makeFilter((n: number) => Number.isInteger(n)))
const envelope = {
  request: Schema.Struct({ ...version, id: Id, method: Schema.String, ...params }),
  notification: Schema.Struct({ ...version, id: absent, method: Schema.String, ...params }),
  success: Schema.Struct({ ...version, id: Id, method: absent, error: absent, result: Schema.Unknown }),
  failure: Schema.Struct({
    ...version,
    id: Schema.optionalKey(Schema.NullOr(Id)),
    method: absent,
    result: absent,
    error: Schema.Struct({ code, message: Schema.String })
  })
}
const kinds = Object.entries(envelope).map(([kind, schema]) => ({ kind, is: Schema.is(schema) }))

const bySchema = (u: unknown) => kinds.filter(({ is }) => is(u)).map(({ kind }) => kind)
const byHand = (u: unknown): ReadonlyArray<string> => {
  const message = JsonRpc.classify(u)
  if (JsonRpc.isInvalid(message)) return []
  if (JsonRpc.isRequest(message)) return ["request"]
  if (JsonRpc.isNotification(message)) return ["notification"]
  return ["result" in message ? "success" : "failure"]
}

// Classifiers tend to be wrong on near misses, so every field is drawn from valid values and from junk alike.
const maybe = (...likely: ReadonlyArray<Schema.Codec<unknown>>) =>
  Schema.optionalKey(Schema.Union([...likely, Schema.Json]))
const Junk = Schema.Struct({
  jsonrpc: maybe(Schema.Literal("2.0"), Schema.Literal("2.0"), Schema.Literal("2.0")),
  id: maybe(Schema.String, Schema.Finite, Schema.Null),
  method: maybe(Schema.String),
  params: maybe(Schema.Record(Schema.String, Schema.Json)),
  result: maybe(),
  error: maybe(Schema.Struct({ code: maybe(Schema.Int, Schema.Finite), message: maybe(Schema.String) }))
})
const Near = Schema.Struct({ ...Junk.fields, jsonrpc: Schema.Literal("2.0") })
const options = { arbitrary: { runs: 3000, size: 6, seed: 7 } }

describe("JSON-RPC envelopes", () => {
  it.prop(
    "JsonRpc.classify agrees with the envelope schemas on near misses",
    [Schema.Union([Near, Near, Near, Junk])],
    ([value]) => assert.deepStrictEqual(byHand(value), bySchema(value)),
    {
      ...verifies(
        "json-rpc.request.id-type",
        "json-rpc.request.id-not-null",
        "json-rpc.response.result-or-error",
        "json-rpc.response.not-both",
        "json-rpc.error.code-integer",
        "json-rpc.error.code-and-message"
      ),
      ...options
    }
  )

  it.prop(
    "JsonRpc.classify agrees with the envelope schemas on any JSON",
    [Schema.Json],
    ([value]) => assert.deepStrictEqual(byHand(value), bySchema(value)),
    { arbitrary: { runs: 300, size: 8, seed: 7 } }
  )

  it.prop(
    "A valid envelope is returned as the same object, with its unknown fields",
    [Schema.Union([envelope.request, envelope.notification, envelope.success, envelope.failure])],
    ([message]) => {
      const extended = { ...message, "x-unknown": 1 }
      assert.strictEqual(JsonRpc.classify(extended), extended)
      assert.deepStrictEqual(byHand(extended), bySchema(message))
    },
    { arbitrary: { runs: 200, size: 6, seed: 7 } }
  )

  it("Ids that look alike stay distinct", () => {
    for (const id of [0, "", 1, "1"]) {
      const message = JsonRpc.classify({ jsonrpc: "2.0", id, method: "ping" })
      assert.isFalse(JsonRpc.isInvalid(message))
      assert.strictEqual((message as JsonRpc.Request).id, id)
    }
  })

  it("An invalid envelope still reports its id, if any", () => {
    assert.strictEqual((JsonRpc.classify({ jsonrpc: "1.0", id: 0 }) as JsonRpc.Invalid).id, 0)
    assert.strictEqual((JsonRpc.classify({ jsonrpc: "2.0", id: 7, method: 3 }) as JsonRpc.Invalid).id, 7)
    assert.isUndefined((JsonRpc.classify({ jsonrpc: "2.0", id: null, method: "ping" }) as JsonRpc.Invalid).id)
    assert.isUndefined((JsonRpc.classify([]) as JsonRpc.Invalid).id)
  })
})

describe("Message text", () => {
  it.prop(
    "A message's text is one line and reads back unchanged",
    [JsonRpcMessage()],
    ([generated]) => {
      const message = JSON.parse(JSON.stringify(generated)) as JsonRpc.Message
      const line = JsonRpc.encode(message)
      assert.notInclude(line, "\n")
      assert.deepStrictEqual(JSON.parse(line), message)
    },
    { arbitrary: { runs: 200, size: 6, seed: 7 } }
  )

  it("The text of a progress notification equals the output of JSON.stringify", () => {
    const values = [
      0,
      -0,
      1.5,
      -1e-7,
      1e21,
      Number.NaN,
      Infinity,
      "",
      'a"\n\u2028',
      undefined,
      null,
      true,
      [1],
      { a: 1 }
    ]
    const method = "notifications/progress"
    const send = (message: object) => {
      const expected = JSON.stringify(message).replaceAll("\u2028", "\\u2028")
      assert.strictEqual(JsonRpc.encode(message as JsonRpc.Message), expected)
    }
    for (const a of values) {
      for (const b of values) {
        send({ jsonrpc: "2.0", method, params: { progressToken: a, progress: b } })
        send({ jsonrpc: "2.0", method, params: { progressToken: 1, progress: a, total: b, message: a } })
        send({ params: { other: a, progress: b }, method, jsonrpc: "2.0" })
        send({ jsonrpc: "2.0", method, params: { progress: a }, other: b })
        send({ jsonrpc: "2.0", method, params: { progressToken: 1, progress: 1 }, other: b })
        send({ jsonrpc: "2.0", method, params: { progressToken: 1, progress: 1 }, _meta: { a } })
      }
    }
    // Fields in any order, and unknown ones anywhere.
    const names = ["progressToken", "progress", "total", "message", "_meta"]
    for (const first of names) {
      for (let from = 0; from < names.length; from++) {
        const order = [first, ...names.slice(from), ...names.slice(0, from)]
        for (let count = 1; count <= order.length; count++) {
          send({ jsonrpc: "2.0", method, params: Object.fromEntries(order.slice(0, count).map((name) => [name, 1])) })
        }
      }
    }
    send({ jsonrpc: "2.0", method, params: {} })
    send({ jsonrpc: "2.0", method })
    send({ jsonrpc: "2.0", id: 1, method, params: { progress: 1 } })
  })

  it("Unicode line ends are escaped, because some peers split lines there", () => {
    const text = "a\u2028b\u2029c"
    const params = { [text]: text }
    const messages: ReadonlyArray<JsonRpc.Message> = [
      JsonRpc.request(text, text, params),
      JsonRpc.notification("notifications/message", params),
      JsonRpc.notification("notifications/progress", { progressToken: text, progress: 1, message: text }),
      JsonRpc.notification("notifications/progress", { progressToken: 1, progress: 1, other: text }),
      JsonRpc.failure(text, { code: 1, message: text, data: params }),
      JsonRpc.success(text, params),
      JsonRpc.success(1, params),
      JsonRpc.success(text, {}),
      JsonRpc.success(1, [text]),
      JsonRpc.success(1, text),
      JsonRpc.success(1, { toJSON: () => params }),
      JsonRpc.success(1, new JsonRpc.RawResult(JSON.stringify(params))),
      JsonRpc.success(text, new JsonRpc.RawResult("{}"))
    ]
    for (const message of messages) {
      const line = JsonRpc.encode(message)
      assert.notMatch(line, /[\u2028\u2029]/)
      const result =
        "result" in message && message.result instanceof JsonRpc.RawResult ? message.result.json : undefined
      assert.deepStrictEqual(
        JSON.parse(line),
        result === undefined ? JSON.parse(JSON.stringify(message)) : { ...message, result: JSON.parse(result) }
      )
    }
  })

  it("A result that is already text is embedded unchanged", () => {
    const line = JsonRpc.encode(JsonRpc.success(`"`, new JsonRpc.RawResult(`{"tools":[]}`)))
    assert.strictEqual(line, String.raw`{"jsonrpc":"2.0","id":"\"","result":{"tools":[]}}`)
  })

  it("A failure's text keeps a null, missing or actual id", () => {
    const error = { code: -32700, message: "no" }
    assert.strictEqual(
      JsonRpc.encode(JsonRpc.failure(null, error)),
      `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}`
    )
    assert.strictEqual(
      JsonRpc.encode(JsonRpc.failure(undefined, error)),
      `{"jsonrpc":"2.0","error":{"code":-32700,"message":"no"}}`
    )
    assert.strictEqual(
      JsonRpc.encode(JsonRpc.failure(0, error)),
      `{"jsonrpc":"2.0","id":0,"error":{"code":-32700,"message":"no"}}`
    )
  })
})

function JsonRpcMessage() {
  const params = Schema.optionalKey(Schema.Record(Schema.String, Schema.Json))
  const jsonrpc = Schema.Literal("2.0")
  return Schema.Union([
    Schema.Struct({ jsonrpc, id: Id, method: Schema.String, params }),
    Schema.Struct({ jsonrpc, method: Schema.String, params }),
    Schema.Struct({ jsonrpc, id: Id, result: Schema.Json })
  ])
}
