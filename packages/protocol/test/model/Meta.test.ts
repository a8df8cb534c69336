import { assert, describe, it } from "@effect/vitest"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import { verifies } from "@effect-mcp/spec/verifies"
import { Schema } from "effect"

const valid = [
  "",
  "a",
  "Z9",
  "progressToken",
  "a-b_c.d",
  "a--b",
  "example/",
  "com.example/",
  "com.example/a",
  "a-1.b2/x.y",
  "io.modelcontextprotocol/protocolVersion"
]

describe("Progress tokens", () => {
  it("A progress token is a string or an integer", () => {
    const is = Schema.is(Meta.ProgressToken)
    for (const token of ["", "a", 0, -1, 7, Number.MAX_SAFE_INTEGER]) assert.isTrue(is(token), String(token))
    for (const token of [1.5, 1e-7, Number.NaN, Infinity, null, true, {}, ["a"]])
      assert.isFalse(is(token), JSON.stringify(token))
  })
})

describe("`_meta` keys", () => {
  it("A `_meta` key is a name after an optional prefix", () => {
    for (const key of valid) assert.isTrue(Meta.isKey(key), key)
  })

  it("A `_meta` key prefix has dot-separated labels and ends with a slash", () => {
    for (const key of ["/a", "com..example/a", ".com/a", "com./a", "com/example/a", "com.example//a", "a /b"]) {
      assert.isFalse(Meta.isKey(key), key)
    }
  })

  it("A `_meta` key label starts with a letter and ends with a letter or digit", () => {
    for (const key of ["1com/a", "-com/a", "com-/a", "com.2x/a", "c_m/a", "é/a"]) assert.isFalse(Meta.isKey(key), key)
    for (const key of ["c/a", "c1/a", "c-1/a"]) assert.isTrue(Meta.isKey(key), key)
  })

  it("A `_meta` key name is empty, or starts and ends with a letter or digit", () => {
    for (const key of ["-a", "a-", "_a", "a.", "com.example/-a", "com.example/a_", "a b", "a\n", "ä"]) {
      assert.isFalse(Meta.isKey(key), JSON.stringify(key))
    }
  })

  it("A `_meta` key is checked in linear time", () => {
    const long = "a".repeat(100_000)
    assert.isTrue(Meta.isKey(`${long}.${long}/${long}`))
    assert.isFalse(Meta.isKey(`${long}${"-".repeat(100_000)}`))
    assert.isFalse(Meta.isKey(`${"a.".repeat(100_000)}/`))
  })

  it("A `_meta` key is reserved if its prefix's second label belongs to MCP", () => {
    const reserved = [
      "io.modelcontextprotocol/",
      "dev.mcp/a",
      "org.modelcontextprotocol.api/a",
      "com.mcp.tools/a",
      Meta.serverInfo
    ]
    for (const key of reserved) assert.isTrue(Meta.isReserved(key), key)
    for (const key of ["com.example.mcp/a", "mcp/a", "mcp", "a.mcp", "com.mcpx/a", "com.mcp//"]) {
      assert.isFalse(Meta.isReserved(key), key)
    }
  })

  it("A `_meta` key identifies an extension only with a prefix", () => {
    for (const key of ["io.modelcontextprotocol/ui", "example/x"]) assert.isTrue(Meta.isExtensionId(key), key)
    for (const key of ["ui", "", "/ui", "1a/ui", "a/-"]) assert.isFalse(Meta.isExtensionId(key), key)
  })

  it(
    "Every `_meta` key defined by the protocol is valid",
    verifies("meta.prefix.format", "meta.prefix.label", "meta.name.format"),
    () => {
      const { baggage, clientCapabilities, clientInfo, logLevel, protocolVersion } = Meta
      const { serverInfo, subscriptionId, traceparent, tracestate } = Meta
      for (const key of [protocolVersion, clientInfo, clientCapabilities, logLevel, serverInfo, subscriptionId]) {
        assert.isTrue(Meta.isKey(key) && Meta.isReserved(key), key)
      }
      for (const key of [traceparent, tracestate, baggage]) assert.isTrue(Meta.isKey(key), key)
    }
  )
})

describe("withMeta", () => {
  it("withMeta adds to a message's `_meta` without changing the message itself", () => {
    const message = { a: 1, _meta: { b: 2, c: 3 } }
    assert.deepStrictEqual(Meta.withMeta(message, { c: 4 }), { a: 1, _meta: { b: 2, c: 4 } })
    assert.deepStrictEqual(Meta.withMeta({ a: 1 }, { c: 4 }), { a: 1, _meta: { c: 4 } })
    assert.deepStrictEqual(message, { a: 1, _meta: { b: 2, c: 3 } })
  })
})
