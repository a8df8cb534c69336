import { parse, usage } from "@effect-mcp/spec/commandLine"
import { assert, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"

const main = fileURLToPath(new URL("../../src/main.ts", import.meta.url))
const run = (...args: ReadonlyArray<string>) => spawnSync(process.execPath, [main, ...args], { encoding: "utf8" })

describe("Command line", () => {
  it.each([
    [[], "Report"],
    [["--json", "tools", "stdio"], "Report"],
    [["--prove", "7", "any-word"], "Prove"],
    [["--prove", "--help"], "Help"],
    [["-h"], "Help"],
    [["nonsense"], "Wrong"],
    [["--nonsense"], "Wrong"],
    [["--prove", "--json"], "Wrong"],
    [["toString"], "Wrong"]
  ] as const)("The words %j select: %s", (words, tag) => {
    assert.strictEqual(parse(words)._tag, tag)
  })

  it("--help explains the words without running the tests", () => {
    const { status, stderr, stdout } = run("--help")
    assert.deepStrictEqual([status, stdout, stderr], [0, `${usage}\n`, ""])
  })

  it("Unknown words exit with code 2 and the usage", () => {
    const { status, stderr, stdout } = run("nonsense")
    assert.deepStrictEqual([status, stdout], [2, ""])
    assert.strictEqual(stderr, `nonsense is no area of the ledger.\n\n${usage}\n`)
  })
})
