/** The code of the README is the code of the examples, and the examples run. */
import { assert, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

const read = (path: string): string => readFileSync(new URL(path, import.meta.url), "utf8")
const readme = read("../../../README.md")
const blocks = [...readme.matchAll(/^```ts ?(\S*)\n([\s\S]*?)^```$/gm)].map(([, name = "", code = ""]) => ({
  name,
  code
}))

describe("the README", () => {
  it("shows code", () => {
    assert.isAtLeast(blocks.length, 3)
  })

  it.each(blocks)("shows $name as it is", ({ name, code }) => {
    assert.strictEqual(code, read(`../src/${name}`))
  })

  it("shows a client that works", { timeout: 30_000 }, () => {
    const client = fileURLToPath(new URL("../src/calculator-client.ts", import.meta.url))
    const { status, stdout, stderr } = spawnSync(process.execPath, [client], { encoding: "utf8" })
    assert.deepStrictEqual({ status, stdout }, { status: 0, stdout: "1 + 2 = 3, over MCP 2026-07-28\n" }, stderr)
  })

  it("names only files that are there", () => {
    for (const [, path = ""] of readme.matchAll(/\]\((packages\/[^)]+)\)/g)) {
      assert.doesNotThrow(() =>
        readFileSync(new URL(`../../../${path}${path.endsWith(".ts") ? "" : "/package.json"}`, import.meta.url))
      )
    }
  })
})
