/**
 * Random protocol values for property tests: IDs, envelopes, junk, and valid requests for each revision.
 *
 * Requests are derived from the codecs' schemas, so they cover every field of a revision.
 */
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type * as Method from "@effect-mcp/protocol/Method"
import * as MethodInfo from "@effect-mcp/protocol/MethodInfo"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import type { Revision } from "@effect-mcp/protocol/Revision"
import * as Arbitrary from "effect/Arbitrary"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Struct from "effect/Struct"

/** IDs of both types, including some that are easily confused with each other or with a missing ID. */
export const id: Arbitrary.Arbitrary<JsonRpc.Id> = Arbitrary.schema(
  Schema.Union([Schema.Literals([0, "", 1, "1", -1, "0"]), Schema.Int, Schema.String])
)

/** Any JSON value. */
export const json: Arbitrary.Arbitrary<Schema.Json> = Arbitrary.schema(Schema.Json)

const params = Schema.Record(Schema.String, Schema.Json)
const version = Schema.Literal("2.0")
const anyId = Schema.Union([Schema.Literals([0, "", 1, "1"]), Schema.Int, Schema.String])
const error = Schema.Struct({ code: Schema.Int, message: Schema.String, data: Schema.optionalKey(Schema.Json) })

/** A well-formed message with an arbitrary method. */
export const message: Arbitrary.Arbitrary<JsonRpc.Message> = Arbitrary.schema(
  Schema.Union([
    Schema.Struct({ jsonrpc: version, id: anyId, method: Schema.String, params: Schema.optionalKey(params) }),
    Schema.Struct({ jsonrpc: version, method: Schema.String, params: Schema.optionalKey(params) }),
    Schema.Struct({ jsonrpc: version, id: anyId, result: Schema.Json }),
    Schema.Struct({ jsonrpc: version, id: Schema.optionalKey(Schema.NullOr(anyId)), error })
  ])
)

const scraps = Schema.Literals([
  "{",
  "}",
  "[",
  "]",
  '"',
  "\\",
  ",",
  ":",
  " ",
  "\t",
  "\r",
  "0",
  "-",
  "null",
  "true",
  "\u0000",
  "é",
  "😀",
  '"jsonrpc":"2.0"',
  '"id":',
  '"method":',
  '"params":',
  '"result":',
  '"error":',
  "1e999",
  '"x"'
])

/** A line that isn't a valid message: malformed JSON, unrelated JSON, or an envelope with one mistake. Contains no newline. */
export const junk: Arbitrary.Arbitrary<string> = Arbitrary.filterMap(
  Arbitrary.all([
    Arbitrary.array(Arbitrary.schema(scraps), { maxLength: 20 }),
    json,
    message,
    Arbitrary.schema(Schema.Literals(["scraps", "json", "version", "id", "params", "cut"]))
  ]),
  ([parts, value, valid, kind]) => {
    const text = {
      scraps: parts.join(""),
      json: JSON.stringify(value),
      version: JSON.stringify({ ...valid, jsonrpc: value }),
      id: JSON.stringify({ ...valid, id: [value] }),
      params: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "m", params: parts }),
      cut: JSON.stringify(valid).slice(0, -1)
    }[kind]
    return isJunk(text) ? Result.succeed(text) : Result.failVoid
  }
)

const isJunk = (text: string): boolean => {
  try {
    return JsonRpc.isInvalid(JsonRpc.classify(JSON.parse(text)))
  } catch {
    return text.trim() !== ""
  }
}

/** A request in one revision, with its params in wire format. */
export interface WireRequest {
  readonly method: string
  readonly params: JsonRpc.Params | undefined
}

const requestOf = <M extends keyof Method.ClientRequests>(
  revision: Revision,
  method: M
): Arbitrary.Arbitrary<WireRequest> | undefined => {
  const codec = revision.clientRequests[method]
  if (codec === undefined) return undefined
  const encode = Schema.encodeExit(codec.params)
  return Arbitrary.filterMap(Arbitrary.schema(MethodInfo.clientRequests[method].params), (value) => {
    const wire = encode(value)
    // Skips values that an older revision cannot express.
    if (Exit.isFailure(wire)) return Result.failVoid
    return Result.succeed({ method, params: isJsonObject(wire.value) ? wire.value : undefined })
  })
}

/**
 * Valid client requests in this revision, by method. In 2026-07-28, the sender still has to add its declaration to `_meta`.
 *
 * @example
 * ```ts
 * import { Revision } from "@effect-mcp/protocol"
 * import { Arbitraries } from "@effect-mcp/testing"
 *
 * console.log(Arbitraries.requests(Revision.latestStateful).has("initialize")) // => true
 * ```
 */
export const requests = (revision: Revision): ReadonlyMap<string, Arbitrary.Arbitrary<WireRequest>> =>
  new Map(
    Struct.keys(MethodInfo.clientRequests).flatMap((method) => {
      const arbitrary = requestOf(revision, method)
      return arbitrary === undefined ? [] : [[method, arbitrary] as const]
    })
  )

/** An arbitrary valid client request in this revision. */
export const request = (revision: Revision): Arbitrary.Arbitrary<WireRequest> => {
  const all = [...requests(revision).values()]
  return Arbitrary.flatMap(
    Arbitrary.schema(Schema.Literals(all.map((_, index) => index))),
    (index) => all[index] ?? Arbitrary.Constant({ method: "ping", params: undefined })
  )
}
