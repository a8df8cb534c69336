import { assert, it } from "@effect/vitest"
import { Schema } from "effect"
import { bytesOf, newId } from "../../src/store/Row.ts"

it.prop(
  "Sizes count the UTF-8 bytes of a value's JSON",
  [Schema.String, Schema.Literals([1, 100])],
  ([text, times]) => {
    const value = { text: text.repeat(times) }
    assert.strictEqual(bytesOf(value), new TextEncoder().encode(JSON.stringify(value)).byteLength)
  }
)

it("Ids are unique, with 43 base64url characters after the initial letter", () => {
  const ids = Array.from({ length: 200 }, () => newId())
  assert.strictEqual(new Set(ids).size, ids.length)
  for (const id of ids) assert.match(id, /^t[A-Za-z0-9_-]{43}$/)
})
