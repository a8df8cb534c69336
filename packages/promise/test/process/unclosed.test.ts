/** Processes that exit without closing their servers and clients. */
import { assert, describe, it } from "@effect/vitest"
import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"

describe("Unclosed processes", () => {
  it("A process that closes neither client nor server exits after its last call", { timeout: 120_000 }, async () => {
    const file = fileURLToPath(new URL("../fixtures/unclosed.ts", import.meta.url))
    const { stdout } = await promisify(execFile)(process.execPath, [file])
    assert.strictEqual(stdout, "called\n")
  })
})
