/** Base64 agrees with Effect's modules for the same bytes. */
import * as base64 from "@effect-mcp/protocol/internal/base64"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as Base64 from "effect/encoding/Base64"
import * as Base64Url from "effect/encoding/Base64Url"

describe("Base64", () => {
  it.prop("Bytes are encoded as in Effect and decoded to the same bytes", { bytes: Schema.Uint8Array }, ({ bytes }) => {
    assert.strictEqual(base64.encode(bytes), Base64.encode(bytes))
    assert.strictEqual(base64.encodeUrl(bytes), Base64Url.encode(bytes))
    assert.deepStrictEqual(base64.decode(Base64.encode(bytes)), bytes)
    assert.deepStrictEqual(base64.decodeUrl(Base64Url.encode(bytes)), bytes)
  })

  it("Input of any length is encoded with the whole alphabet and padding", () => {
    for (let length = 0; length < 300; length++) {
      const bytes = Uint8Array.from({ length }, (_, i) => (i * 37 + length) & 255)
      assert.strictEqual(base64.encode(bytes), Base64.encode(bytes))
      assert.deepStrictEqual(base64.decode(base64.encode(bytes)), bytes)
    }
  })

  it("Invalid Base64 is rejected, and non-canonical text re-encodes differently", () => {
    for (const text of ["a", "a===", "*aaa", "aaaä"]) assert.isUndefined(base64.decode(text))
    for (const text of ["QQ", "QR==", "Q Q==", "QQ==\n"]) {
      const bytes = base64.decode(text)
      assert.notStrictEqual(bytes && base64.encode(bytes), text)
    }
  })
})
