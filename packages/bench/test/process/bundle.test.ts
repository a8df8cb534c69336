import { assert, describe, it } from "@effect/vitest"
import { spawn, spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { createInterface } from "node:readline"
import { bundle, type Program, programs } from "../../src/bundle.ts"
import { root } from "../../src/Process.ts"

const initialize = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } }
}

/** Runs a file, and returns its first line and its exit. */
const run = async (file: string, args: ReadonlyArray<string>, input: string) => {
  const child = spawn(process.execPath, [file, ...args], {
    cwd: path.dirname(file),
    env: { ...process.env, NODE_COMPILE_CACHE: path.join(path.dirname(file), "cache") },
    stdio: ["pipe", "pipe", "inherit"]
  })
  const ended = new Promise<number | null>((resolve) => child.once("exit", resolve))
  const line = new Promise<string>((resolve) => createInterface({ input: child.stdout }).once("line", resolve))
  child.stdin.write(input)
  const first = await Promise.race([line, ended.then((code) => `ended with ${code}`)])
  child.stdin.end()
  return { first, code: await ended }
}

/** The name of the server that a file starts. */
const serverIn = async (file: string): Promise<string> => {
  const { code, first } = await run(file, ["."], `${JSON.stringify(initialize)}\n`)
  assert.strictEqual(code, 0)
  return JSON.parse(first).result.serverInfo.name
}

/** A directory from which no package can be resolved. */
const inScratch = async (use: (directory: string) => Promise<void>) => {
  const directory = mkdtempSync(path.join(os.tmpdir(), "effect-mcp-bundle-"))
  try {
    await use(directory)
  } finally {
    rmSync(directory, { recursive: true })
  }
}

const bundled = (program: Program, use: (file: string) => Promise<void>) =>
  inScratch(async (directory) => {
    const file = await bundle(program, directory)
    const files = program.split === true ? ["NOTICE", "chunks", program.out, "page"] : [program.out]
    assert.deepStrictEqual(readdirSync(directory), files)
    await use(file)
  })

describe("Bundled programs", () => {
  for (const program of programs.filter(({ out }) => out.endsWith("-server.js"))) {
    it(`A bundled program starts and answers: ${program.out}`, () =>
      bundled(program, async (file) => {
        assert.strictEqual(await serverIn(file), program.out.replace("-server.js", ""))
      }))
  }

  it("A bundled program is also the command, answers --version and has its license notice", async () => {
    const [program] = programs
    assert.isDefined(program)
    await bundled(program, async (file) => {
      const { code, first } = await run(file, ["--version"], "")
      assert.match(first, /\d+\.\d+\.\d+/)
      assert.strictEqual(code, 0)
      assert.include(readFileSync(path.join(path.dirname(file), "NOTICE"), "utf8"), "effect 4.1.0, MIT")
    })
  })

  it("The bundled command writes and reads configurations in JSON and TOML", async () => {
    const [program] = programs
    assert.isDefined(program)
    await bundled(program, async (file) => {
      const home = path.join(path.dirname(file), "home")
      mkdirSync(home)
      const env = { PATH: process.env["PATH"], HOME: home, USERPROFILE: home, APPDATA: home }
      const command = (...args: ReadonlyArray<string>): string => {
        const { status, stderr, stdout } = spawnSync(process.execPath, [file, ...args], {
          cwd: path.dirname(file),
          env,
          encoding: "utf8"
        })
        assert.strictEqual(status, 0, stderr)
        return stdout
      }
      for (const host of ["claude-code", "codex"]) command("install", host, "--name", "mine", "--", "node", "server.js")
      assert.deepStrictEqual(
        JSON.parse(command("list", "--json")).map(({ client, name }: Record<string, string>) => [client, name]),
        [
          ["claude-code", "mine"],
          ["codex", "mine"]
        ]
      )
    })
  })
})

describe("Performance page", () => {
  const page = readFileSync(path.join(root, "../docs/pages/performance.md"), "utf8")
  const block = (name: string): string => {
    const [, code = ""] = new RegExp(`^\`\`\`\\w+ ${name}\\n([\\s\\S]*?)^\`\`\`$`, "m").exec(page) ?? []
    assert.isNotEmpty(code, name)
    return code
  }
  const examples = path.join(root, "../examples")
  const source = path.join(examples, "src/calculator-server.ts")

  it("The fast start example bundles a server and starts it", () =>
    inScratch(async (directory) => {
      writeFileSync(path.join(directory, "package.json"), `{ "type": "module" }`)
      const [, command, ...args] = block("bundle").trim().split(" ")
      assert.strictEqual(command, "rolldown")
      const to = path.join(directory, args.at(-1) ?? "")
      const names = args.map((arg, i) => (arg === "server.ts" ? source : i === args.length - 1 ? to : arg))
      const bin = path.join(root, "node_modules/.bin/rolldown")
      const { status, stderr } = spawnSync(bin, [...names, "--entryFileNames", "server.js"], { encoding: "utf8" })
      assert.strictEqual(status, 0, stderr)
      writeFileSync(path.join(directory, "start.js"), block("start.js"))
      assert.strictEqual(await serverIn(path.join(directory, "start.js")), "calculator")
      // Once more, from the cache.
      assert.isNotEmpty(readdirSync(path.join(directory, "cache")))
      assert.strictEqual(await serverIn(path.join(directory, "start.js")), "calculator")
    }))

  it("The fast start example compiles schemas with an import", () =>
    inScratch(async (directory) => {
      writeFileSync(path.join(directory, "package.json"), `{ "type": "module" }`)
      symlinkSync(path.join(examples, "node_modules"), path.join(directory, "node_modules"))
      mkdirSync(path.join(directory, "cache"))
      writeFileSync(path.join(directory, "server.ts"), `${block("first")}import "${source}"\n`)
      assert.strictEqual(await serverIn(path.join(directory, "server.ts")), "calculator")
    }))
})
