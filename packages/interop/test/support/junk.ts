/** Lines that no decent peer would send, and a few valid requests among them. */
import { JsonRpc } from "@effect-mcp/protocol"
import { assert } from "@effect/vitest"
import { Schema } from "effect"

/** Near misses find more than noise does, so every field is drawn from valid values and from junk alike. */
const maybe = (...likely: ReadonlyArray<Schema.Codec<unknown>>) =>
  Schema.optionalKey(Schema.Union([...likely, Schema.Json]))

const methods = [
  "initialize",
  "ping",
  "tools/list",
  "tools/call",
  "resources/read",
  "resources/subscribe",
  "prompts/get",
  "completion/complete",
  "logging/setLevel",
  "notifications/initialized",
  "notifications/cancelled",
  "notifications/progress",
  "notifications/roots/list_changed",
  "constructor",
  "__proto__"
] as const

const Params = Schema.Struct({
  name: maybe(Schema.Literals(["echo", "add", "fail", "test_simple_prompt", "toString"])),
  uri: maybe(Schema.Literals(["test://static-text", "test://template//data", "test://nowhere"])),
  arguments: maybe(Schema.Record(Schema.String, Schema.Json)),
  cursor: maybe(Schema.String),
  ref: maybe(Schema.Struct({ type: maybe(Schema.Literals(["ref/prompt", "ref/resource"])) })),
  argument: maybe(Schema.Struct({ name: maybe(Schema.String), value: maybe(Schema.String) })),
  requestId: maybe(Schema.Int, Schema.String),
  progressToken: maybe(Schema.Int),
  progress: maybe(Schema.Finite),
  protocolVersion: maybe(Schema.Literal("2025-11-25")),
  _meta: maybe(Schema.Struct({ progressToken: maybe(Schema.Int) }))
})

const Near = Schema.Struct({
  jsonrpc: maybe(Schema.Literal("2.0"), Schema.Literal("2.0"), Schema.Literal("2.0"), Schema.Literal("2.0")),
  id: maybe(Schema.String, Schema.Int, Schema.Finite, Schema.Null),
  method: maybe(Schema.Literals(methods), Schema.Literals(methods), Schema.String),
  params: maybe(Params, Params, Schema.Record(Schema.String, Schema.Json)),
  result: maybe(),
  error: maybe(Schema.Struct({ code: maybe(Schema.Finite), message: maybe(Schema.String) }))
})

const nested = (depth: number, open: string, close: string): string => open.repeat(depth) + "1" + close.repeat(depth)
const deepCall = `{"jsonrpc":"2.0","id":"deep","method":"tools/call","params":{"name":"echo","arguments":`

/** Cases that generators do not produce. */
const edges: ReadonlyArray<string> = [
  "",
  " \t ",
  "\u{feff}{}",
  "null",
  "[]",
  "{}",
  "{}{}",
  `{"jsonrpc":"2.0"}\r`,
  `"\\ud800"`,
  `{"jsonrpc":"2.0","id":1e999,"method":"ping"}`,
  `{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`,
  `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`,
  `{"jsonrpc":"2.0","id":{},"method":"ping"}`,
  `{"jsonrpc":"2.0","id":"\\u0000","method":"\\u0000"}`,
  `{"__proto__":{"jsonrpc":"2.0","id":"p","method":"ping"}}`,
  `{"jsonrpc":"2.0","id":"q","method":"tools/call","params":{"name":"echo","arguments":{"__proto__":{"message":"x"}}}}`,
  `{"jsonrpc":"2.0","id":"r","method":"tools/call","params":{"name":"json_schema_2020_12_tool","arguments":{"__proto__":1}}}`,
  nested(20_000, "[", "]"),
  nested(20_000, `{"a":`, "}"),
  "[".repeat(20_000),
  `${deepCall}${nested(5000, `{"message":`, "}")}}}`,
  `${deepCall}{"message":${nested(5000, "[", "]")}}}}`,
  `{"jsonrpc":"2.0","method":"notifications/progress","params":${nested(5000, `{"a":`, "}")}}`
]

/** One line of junk. */
export const Line = Schema.Union([
  Schema.Struct({ _tag: Schema.Literal("Text"), text: Schema.String }),
  Schema.Struct({
    _tag: Schema.Literal("Bytes"),
    bytes: Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 255 })))
  }),
  Schema.Struct({ _tag: Schema.Literal("Json"), json: Schema.Json }),
  Schema.Struct({ _tag: Schema.Literal("Near"), message: Near }),
  Schema.Struct({ _tag: Schema.Literal("Closer"), message: Near }),
  Schema.Struct({ _tag: Schema.Literal("Batch"), messages: Schema.Array(Near) }),
  Schema.Struct({ _tag: Schema.Literal("Cut"), at: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 60 })) }),
  Schema.Struct({
    _tag: Schema.Literal("Edge"),
    index: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: edges.length - 1 }))
  })
])
export type Line = typeof Line.Type

const encoder = new TextEncoder()
const newline = 10

const textOf = (line: Exclude<Line, { readonly _tag: "Bytes" }>): string => {
  switch (line._tag) {
    case "Text":
      return line.text
    case "Json":
      return JSON.stringify(line.json)
    case "Near":
      return JSON.stringify(line.message)
    case "Closer":
      return JSON.stringify({ ...line.message, jsonrpc: "2.0" })
    case "Batch":
      return JSON.stringify(line.messages)
    case "Cut":
      return JSON.stringify(JsonRpc.request("cut", "tools/call", { name: "echo" })).slice(0, line.at)
    default:
      return edges[line.index] ?? ""
  }
}

/** The bytes of a line, without newlines inside. */
const bytesOf = (line: Line): Uint8Array =>
  (line._tag === "Bytes" ? Uint8Array.from(line.bytes) : encoder.encode(textOf(line))).filter((b) => b !== newline)

/** A prefix of ids that junk does not contain. */
const prefix = "a valid request, number "

const validRequest = (n: number): JsonRpc.Request => {
  const id = prefix + n
  const requests = [
    JsonRpc.request(id, "ping"),
    JsonRpc.request(id, "tools/call", { name: "echo", arguments: { message: id } }),
    JsonRpc.request(id, "resources/read", { uri: "test://static-text" }),
    JsonRpc.request(id, "prompts/get", { name: "test_simple_prompt" })
  ]
  return requests[n % requests.length] ?? JsonRpc.request(id, "ping")
}

const opening = [
  JsonRpc.request("opening", "initialize", {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "junk", version: "0" }
  }),
  JsonRpc.notification("notifications/initialized")
]

const concat = (parts: ReadonlyArray<Uint8Array>): Uint8Array => {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0))
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}

export interface Session {
  readonly input: Uint8Array
  readonly valid: ReadonlyArray<JsonRpc.Request>
}

/** The input of a whole session: the handshake, the junk, and one valid request after every `every` lines of it. */
export const session = (lines: ReadonlyArray<Line>, every: number): Session => {
  const valid: Array<JsonRpc.Request> = []
  const parts: Array<Uint8Array> = opening.map((message) => encoder.encode(JsonRpc.encode(message)))
  lines.forEach((line, i) => {
    parts.push(bytesOf(line))
    if (i % every !== every - 1) return
    const request = validRequest(valid.length)
    valid.push(request)
    parts.push(encoder.encode(JsonRpc.encode(request)))
  })
  return { valid, input: concat(parts.map((part) => concat([part, Uint8Array.of(newline)]))) }
}

/** The input in chunks, split without regard to lines and characters. */
export const chunks = (input: Uint8Array, size: number): ReadonlyArray<Uint8Array> =>
  Array.from({ length: Math.ceil(input.length / size) }, (_, i) => input.subarray(i * size, (i + 1) * size))

/**
 * Checks that every output line is a message or a batch, and that every valid request got exactly one answer, a result.
 */
export const checkOutput = (output: string, { valid }: Session): void => {
  const answers = new Map<unknown, number>()
  const lines = output.split("\n").filter((line) => line !== "")
  for (const json of lines.map((line): unknown => JSON.parse(line))) {
    const message = JsonRpc.classify(json)
    if (JsonRpc.isInvalid(message)) assert.fail(`Not a message: ${JSON.stringify(json)}`)
    if (!JsonRpc.isResponse(message) || typeof message.id !== "string" || !message.id.startsWith(prefix)) continue
    assert.property(message, "result", JSON.stringify(message))
    answers.set(message.id, (answers.get(message.id) ?? 0) + 1)
  }
  assert.deepStrictEqual(
    valid.map(({ id }) => [id, answers.get(id)]),
    valid.map(({ id }) => [id, 1])
  )
}
