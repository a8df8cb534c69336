import { assert, describe, it } from "@effect/vitest"
import { spawn } from "node:child_process"
import { mkdtempSync, readdirSync, rmSync } from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { createInterface } from "node:readline"
import { bundle, type Program, programs } from "../src/bundle.ts"

const initialize = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } }
}

/** Bundles the program where no module can be found, runs it, and gives back its first line and how it ended. */
const run = async (program: Program, args: ReadonlyArray<string>, input: string) => {
  const directory = mkdtempSync(path.join(os.tmpdir(), "effect-mcp-bundle-"))
  try {
    const file = await bundle(program, directory)
    assert.deepStrictEqual(readdirSync(directory), [program.out])
    const child = spawn(process.execPath, [file, ...args], { cwd: directory, stdio: ["pipe", "pipe", "inherit"] })
    const ended = new Promise<number | null>((resolve) => child.once("exit", resolve))
    const line = new Promise<string>((resolve) => createInterface({ input: child.stdout }).once("line", resolve))
    child.stdin.write(input)
    const first = await Promise.race([line, ended.then((code) => `ended with ${code}`)])
    child.stdin.end()
    return { first, code: await ended }
  } finally {
    rmSync(directory, { recursive: true })
  }
}

describe("a program in one file", { timeout: 20_000 }, () => {
  for (const program of programs.filter(({ out }) => out.endsWith("-server.js"))) {
    it(`starts and speaks: ${program.out}`, async () => {
      const { code, first } = await run(program, ["."], `${JSON.stringify(initialize)}\n`)
      const answer = JSON.parse(first)
      assert.deepStrictEqual([answer.id, answer.result.protocolVersion], [1, "2025-11-25"])
      assert.isString(answer.result.serverInfo.name)
      assert.strictEqual(code, 0)
    })
  }

  it("is the command, too", async () => {
    const [program] = programs
    assert.isDefined(program)
    const { code, first } = await run(program, ["--version"], "")
    assert.match(first, /\d+\.\d+\.\d+/)
    assert.strictEqual(code, 0)
  })
})
