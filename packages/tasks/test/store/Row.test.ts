import { assert, it } from "@effect/vitest"
import { Schema } from "effect"
import { bytesOf, newId } from "../../src/store/Row.ts"

it.prop(
  "Counts the bytes of the JSON of a value in UTF-8",
  [Schema.String, Schema.Literals([1, 100])],
  ([text, times]) => {
    const value = { text: text.repeat(times) }
    assert.strictEqual(bytesOf(value), new TextEncoder().encode(JSON.stringify(value)).byteLength)
  }
)

it("Ids differ, and each has 43 characters of base64url after its letter", () => {
  const ids = Array.from({ length: 200 }, () => newId())
  assert.strictEqual(new Set(ids).size, ids.length)
  for (const id of ids) assert.match(id, /^t[A-Za-z0-9_-]{43}$/)
})
