/**
 * `npm run quick -- core server`: types with tests, lint, house rules and quick tests of these packages.
 * `npm run quick -- --changed`: the same for the files that differ from HEAD and whatever imports them.
 *
 * Static checks and tests run side by side. A check that passes prints one line, a check that fails prints its output.
 */
import { spawn } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { changed, isCode } from "./changed.ts"

const root = resolve(import.meta.dirname, "..")

interface Check {
  readonly name: string
  readonly command: ReadonlyArray<string>
}

const run = ({ command: [program = "", ...args], name }: Check): Promise<boolean> => {
  const began = performance.now()
  return new Promise((done) => {
    const child = spawn(program, args, {
      cwd: root,
      env: { ...process.env, FORCE_COLOR: process.stdout.isTTY ? "1" : "0" }
    })
    let output = ""
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk: Buffer) => (output += chunk.toString()))
    child.on("error", (error) => (output += String(error)))
    child.on("close", (code) => {
      const seconds = ((performance.now() - began) / 1000).toFixed(1)
      console.log(`${code === 0 ? "ok  " : "FAIL"}  ${name.padEnd(8)} ${seconds.padStart(6)} s`)
      if (code !== 0) console.log(output)
      done(code === 0)
    })
  })
}

/** Runs one check after another, all of them: one that fails does not hide the next. */
const inTurn = async (checks: ReadonlyArray<Check>): Promise<boolean> => {
  let passed = true
  for (const check of checks) passed = (await run(check)) && passed
  return passed
}

const vitest = ["vitest", "run", "--config", "vitest.workspace.ts"]

interface Scope {
  /** Folders or files. */
  readonly files: ReadonlyArray<string>
  /** Projects of TypeScript; none: all of them. */
  readonly types: ReadonlyArray<string>
  /** Arguments of vitest. */
  readonly tests: ReadonlyArray<string>
}

const quick = async ({ files, tests, types }: Scope): Promise<number> => {
  const linted = files.filter((file) => isCode(file) || !file.includes("."))
  const lanes = await Promise.all([
    inTurn([
      { name: "types", command: ["tsc", "-b", ...types] },
      ...(linted.length === 0 ? [] : [{ name: "lint", command: ["oxlint", "--type-aware", ...linted] }]),
      { name: "format", command: ["oxfmt", "--check", "--no-error-on-unmatched-pattern", ...files] },
      { name: "house", command: ["node", "scripts/house.ts"] }
    ]),
    inTurn([{ name: "tests", command: [...vitest, ...tests] }])
  ])
  return lanes.every((passed) => passed) ? 0 : 1
}

/** The interop suite is the one project that is not named after its package. */

const main = async (args: ReadonlyArray<string>): Promise<number> => {
  if (args.includes("--changed")) {
    const files = changed(root)
    if (files.length === 0) {
      console.log("Nothing differs from HEAD.")
      return 0
    }
    const projects = ["--project=!*:process", "--project=!perf", "--project=!docs:site"]
    return quick({ files, types: [], tests: ["--changed", "--passWithNoTests", ...projects] })
  }
  const names = args.map((name) => name.replace(/^@effect-mcp\//, ""))
  const known = (name: string) => existsSync(join(root, "packages", name, "package.json"))
  const unknown = names.filter((name) => !known(name))
  if (names.length === 0 || unknown.length > 0) {
    const { references } = JSON.parse(readFileSync(join(root, "tsconfig.json"), "utf8"))
    const packages = references.map(({ path }: { path: string }) => path.replace("packages/", "")).join(", ")
    console.error(
      unknown.length > 0 ? `There is no package "${unknown.join('", "')}".` : "Name packages, or --changed."
    )
    console.error(`Packages: ${packages}`)
    return 2
  }
  const folders = names.map((name) => `packages/${name}`)
  return quick({ files: folders, types: folders, tests: names.map((name) => `--project=${name}`) })
}

process.exitCode = await main(process.argv.slice(2))
