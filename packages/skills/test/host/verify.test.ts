/** Verification of single files, for answers that our own server would not send. */
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { bytesOf, resolve } from "../../src/host/verify.ts"

const uri = "skill://refunds/a.bin"

describe("A file of a skill", () => {
  it("Is rejected if it is not base64", () => {
    for (const blob of ["%%%", "AA=A", "A", "\u{1f600}"]) {
      const result = bytesOf(uri, [{ uri, blob }])
      assert.strictEqual(Result.isFailure(result) ? result.failure.reason : result.success, "content", blob)
    }
  })

  it("Has exactly the bytes of its text or its base64", () => {
    const text = bytesOf(uri, [{ uri, text: "\ufeffé" }])
    assert.deepStrictEqual(text, Result.succeed(new Uint8Array([239, 187, 191, 195, 169])))
    assert.deepStrictEqual(bytesOf(uri, [{ uri, blob: "AAH/" }]), Result.succeed(new Uint8Array([0, 1, 255])))
  })

  it("Is found by a path within the skill", () => {
    const root = "skill://refunds"
    for (const [reference, path] of [
      ["a.md", "a.md"],
      ["./x/../a.md", "a.md"],
      ["x//a.md", "x/a.md"],
      ["skill://refunds/x/a%20b.md", "x/a b.md"],
      ["../refunds/a.md", undefined],
      ["/a.md", undefined],
      ["", undefined],
      ["skill://other/a.md", undefined],
      ["javascript:alert(1)", undefined]
    ] as const) {
      assert.strictEqual(resolve(root, reference), path, reference)
    }
  })
})
