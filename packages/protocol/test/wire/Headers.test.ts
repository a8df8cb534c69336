import * as Headers from "@effect-mcp/protocol/Headers"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"

const said = { "io.modelcontextprotocol/protocolVersion": "2026-07-28" }
const request = (method: string, params: object = {}): JsonRpc.Request => ({
  jsonrpc: "2.0",
  id: 1,
  method,
  params: { ...params, _meta: said }
})
const params = [
  { name: "Region", path: ["region"], type: "string" },
  { name: "Limit", path: ["options", "limit"], type: "integer" },
  { name: "Dry", path: ["dry"], type: "boolean" }
] as const

const examples = {
  "us-west1": "us-west1",
  "": "",
  "a b\tc": "a b\tc",
  Grüße: "=?base64?R3LDvMOfZQ==?=",
  " padded ": "=?base64?IHBhZGRlZCA=?=",
  "line1\nline2": "=?base64?bGluZTEKbGluZTI=?=",
  "\uFEFFmark": "=?base64?77u/bWFyaw==?=",
  "=?base64?literal?=": "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=",
  "=?base64?=": "=?base64?PT9iYXNlNjQ/PQ==?=",
  "=?BASE64?literal?=": "=?BASE64?literal?="
}

describe("Header values", () => {
  it(
    "A value is sent as is if it is safe, or else as marked Base64",
    verifies(
      "http.params.encoded",
      "http.params.base64",
      "http.params.markers",
      "http.params.marker-escaped",
      "http.headers.name-encoded"
    ),
    () => {
      for (const [value, header] of Object.entries(examples)) {
        assert.strictEqual(Headers.encode(value), header, value)
        assert.strictEqual(Headers.decode(header), value, header)
      }
    }
  )

  it.prop(
    "A value round-trips using only characters allowed in every header",
    { value: Schema.String },
    ({ value }) => {
      const text = value.toWellFormed()
      const header = Headers.encode(text)
      assert.match(header, /^[\t\x20-\x7e]*$/)
      assert.strictEqual(Headers.decode(` ${header}\t`), text)
    },
    verifies("http.params.decoded")
  )

  it("A value with invalid characters or Base64 is rejected", verifies("http.params.invalid-characters"), () => {
    for (const broken of [
      "é",
      "a\nb",
      "a\u0000",
      "=?base64?SGVsbG8?=",
      "=?base64?SGVs bG8=?=",
      "=?base64?!!!!?=",
      "=?base64?/w==?="
    ]) {
      assert.strictEqual(Headers.decode(broken), undefined, broken)
    }
  })
})

describe("Request headers", () => {
  const body = { name: "größe", arguments: { region: "süd", options: { limit: 42 }, dry: false } }

  it(
    "Request headers mirror the version, method, name and annotated arguments",
    verifies("http.version.matches-body", "http.headers.standard", "http.params.mirrored", "http.params.exact-path"),
    () => {
      assert.deepStrictEqual(Headers.of(request("tools/call", body), params), {
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": Headers.encode("größe"),
        "mcp-param-region": Headers.encode("süd"),
        "mcp-param-limit": "42",
        "mcp-param-dry": "false"
      })
      assert.strictEqual(Headers.of(request("resources/read", { uri: "a://b" }))["mcp-name"], "a://b")
      assert.strictEqual(Headers.of(request("prompts/get", { name: "p" }))["mcp-name"], "p")
      assert.strictEqual(Headers.of(request("tools/list", { name: "p" }))["mcp-name"], undefined)
    }
  )

  it(
    "Request headers omit absent and null arguments",
    verifies("http.params.omitted", "http.params.not-expected"),
    () => {
      const headers = Headers.of(request("tools/call", { name: "t", arguments: { region: null } }), params)
      assert.deepStrictEqual(Object.keys(headers), ["mcp-protocol-version", "mcp-method", "mcp-name"])
      assert.strictEqual(Headers.paramMismatch(headers, params, { region: null }), undefined)
      assert.strictEqual(Headers.paramMismatch(headers, params, undefined), undefined)
    }
  )

  it.prop(
    "Request headers match the body, whatever its values",
    { name: Schema.String, region: Schema.String, limit: Schema.Int, dry: Schema.Boolean },
    ({ name, region, limit, dry }) => {
      const call = request("tools/call", {
        name: name.toWellFormed(),
        arguments: { region: region.toWellFormed(), options: { limit }, dry }
      })
      const headers = Headers.of(call, params)
      assert.strictEqual(Headers.mismatch(headers, call), undefined)
      assert.strictEqual(Headers.paramMismatch(headers, params, call.params?.arguments), undefined)
    },
    verifies("http.headers.decoded")
  )

  it(
    "Request headers must be present, well-formed and equal to the body",
    verifies("http.params.missing", "http.params.validated"),
    () => {
      const call = request("tools/call", body)
      const headers = Headers.of(call, params)
      for (const header of ["mcp-protocol-version", "mcp-method", "mcp-name"]) {
        for (const value of [undefined, "other", "é", "=?base64?!?="]) {
          assert.match(Headers.mismatch({ ...headers, [header]: value }, call) ?? "", new RegExp(header), value)
        }
      }
      for (const header of ["mcp-param-region", "mcp-param-limit", "mcp-param-dry"]) {
        for (const value of [undefined, "other", "é", "=?base64?!?="]) {
          assert.match(
            Headers.paramMismatch({ ...headers, [header]: value }, params, body.arguments) ?? "",
            new RegExp(header),
            value
          )
        }
      }
      assert.match(Headers.paramMismatch(headers, params, {}) ?? "", /mcp-param-region is set/)
    }
  )

  it(
    "Request headers are decoded even if the body contains text marked as Base64",
    verifies("http.headers.decoded"),
    () => {
      const marked = Headers.encode("é")
      const call = request("tools/call", { ...body, name: marked })
      // The header says "é", and the body contains its encoding.
      assert.match(Headers.mismatch({ ...Headers.of(call), "mcp-name": marked }, call) ?? "", /mcp-name/)
      assert.strictEqual(Headers.mismatch(Headers.of(call), call), undefined)
      const region = { ...body.arguments, region: marked }
      const headers = { ...Headers.of(request("tools/call", body), params), "mcp-param-region": marked }
      assert.match(Headers.paramMismatch(headers, params, region) ?? "", /mcp-param-region/)
    }
  )

  it("Request headers accept integers in any decimal form", verifies("http.headers.integers"), () => {
    const limit = (said: string, value: unknown) =>
      Headers.paramMismatch({ "mcp-param-limit": said }, params, { options: { limit: value } })
    assert.strictEqual(limit("42.0", 42), undefined)
    assert.strictEqual(limit("-7", -7), undefined)
    for (const [said, value] of [
      ["43", 42],
      ["0x2a", 42],
      ["", 0],
      ["9007199254740992", 2 ** 53],
      ["42", "42.0"]
    ] as const) {
      assert.isString(limit(said, value), said)
    }
  })

  it("Request headers are not compared with fields missing from the body", () => {
    const bare: JsonRpc.Request = { jsonrpc: "2.0", id: 1, method: "server/discover" }
    assert.strictEqual(Headers.mismatch({ ...Headers.of(bare), "mcp-protocol-version": "2026-07-28" }, bare), undefined)
  })
})
