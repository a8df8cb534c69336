/**
 * Random values of the protocol, for property tests: ids, envelopes, junk, and valid requests of each revision.
 *
 * Requests are made from the schemas of the codecs, so they cover every field of a revision.
 */
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type * as Method from "@effect-mcp/protocol/Method"
import * as Completion from "@effect-mcp/protocol/model/Completion"
import * as Lifecycle from "@effect-mcp/protocol/model/Lifecycle"
import * as Logging from "@effect-mcp/protocol/model/Logging"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import * as Prompt from "@effect-mcp/protocol/model/Prompt"
import * as Resource from "@effect-mcp/protocol/model/Resource"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Subscriptions from "@effect-mcp/protocol/model/Subscriptions"
import * as Tool from "@effect-mcp/protocol/model/Tool"
import type { Revision } from "@effect-mcp/protocol/Revision"
import * as Arbitrary from "effect/Arbitrary"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Struct from "effect/Struct"

/** Ids of both types, with those that are easily confused with each other or with no id. */
export const id: Arbitrary.Arbitrary<JsonRpc.Id> = Arbitrary.schema(
  Schema.Union([Schema.Literals([0, "", 1, "1", -1, "0"]), Schema.Int, Schema.String])
)

/** Any JSON value. */
export const json: Arbitrary.Arbitrary<Schema.Json> = Arbitrary.schema(Schema.Json)

const params = Schema.Record(Schema.String, Schema.Json)
const version = Schema.Literal("2.0")
const anyId = Schema.Union([Schema.Literals([0, "", 1, "1"]), Schema.Int, Schema.String])
const error = Schema.Struct({ code: Schema.Int, message: Schema.String, data: Schema.optionalKey(Schema.Json) })

/** A well-formed message, of any method. */
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

/** A line that is no message: broken JSON, other JSON, envelopes with one error. It has no newline. */
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

/** A request of a revision, with its params on the wire. */
export interface WireRequest {
  readonly method: string
  readonly params: JsonRpc.Params | undefined
}

const page = Schema.UndefinedOr(Meta.PaginatedParams)

/** The canonical params of each request: the codecs of a revision only check and rewrite them. */
const canonical: { readonly [M in keyof Method.ClientRequests]: Schema.Codec<Method.ClientRequests[M]["params"]> } = {
  "completion/complete": Completion.CompleteParams,
  initialize: Lifecycle.InitializeParams,
  "logging/setLevel": Logging.SetLevelParams,
  ping: Schema.UndefinedOr(Meta.RequestParams),
  "prompts/get": Prompt.GetPromptParams,
  "prompts/list": page,
  "resources/list": page,
  "resources/read": Resource.ReadResourceParams,
  "resources/subscribe": Resource.SubscribeParams,
  "resources/templates/list": page,
  "resources/unsubscribe": Resource.SubscribeParams,
  "server/discover": Meta.RequestParams,
  "subscriptions/listen": Subscriptions.ListenParams,
  "tools/call": Tool.CallToolParams,
  "tools/list": page
}

const requestOf = <M extends keyof Method.ClientRequests>(
  revision: Revision,
  method: M
): Arbitrary.Arbitrary<WireRequest> | undefined => {
  const codec = revision.clientRequests[method]
  if (codec === undefined) return undefined
  const encode = Schema.encodeExit(codec.params)
  return Arbitrary.filterMap(Arbitrary.schema(canonical[method]), (value) => {
    const wire = encode(value)
    // Values that an older revision cannot express are skipped.
    if (Exit.isFailure(wire)) return Result.failVoid
    return Result.succeed({ method, params: isJsonObject(wire.value) ? wire.value : undefined })
  })
}

/**
 * Valid requests of a client in this revision, by method. In 2026-07-28 the sender adds the declaration in `_meta`.
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
    Struct.keys(canonical).flatMap((method) => {
      const arbitrary = requestOf(revision, method)
      return arbitrary === undefined ? [] : [[method, arbitrary] as const]
    })
  )

/** Any valid request of a client in this revision. */
export const request = (revision: Revision): Arbitrary.Arbitrary<WireRequest> => {
  const all = [...requests(revision).values()]
  return Arbitrary.flatMap(
    Arbitrary.schema(Schema.Literals(all.map((_, index) => index))),
    (index) => all[index] ?? Arbitrary.Constant({ method: "ping", params: undefined })
  )
}
