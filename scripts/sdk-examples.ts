/**
 * Runs the examples of the official SDK v2 on `@effect-mcp/compat`: `node scripts/sdk-examples.ts CHECKOUT [EXAMPLE...] [--keep]`.
 *
 * `CHECKOUT` is a clone of the SDK's repository, which stays as it is. A copy of its examples below the temporary folder gets its imports
 * changed and is run by the SDK's own runner: over stdio and HTTP, for clients of both eras.
 */
import { spawnSync } from "node:child_process"
import { cpSync, existsSync, globSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { basename, join } from "node:path"

const root = join(import.meta.dirname, "..")
const compat = join(root, "packages/compat")
const runner = "scripts/examples/run-examples.ts"

/** Folders beside the examples that examples import. */
const shared = ["shared", "todos-server"]

const quit = (message: string): never => {
  console.error(message)
  process.exit(2)
}

const edit = (file: string, change: (text: string) => string): void =>
  writeFileSync(file, change(readFileSync(file, "utf8")))

/** Replaces imports as the package's README describes, and uses Node's SQLite instead of a package that needs an install script. */
const withShim = (text: string): string =>
  text
    .replaceAll(/@modelcontextprotocol\/(server|client|node|express|hono)(["'/])/g, "@effect-mcp/compat/$1$2")
    .replace("import Database from 'better-sqlite3'", "import { DatabaseSync as Database } from 'node:sqlite'")

const isReplaced = /^@modelcontextprotocol\/(?:server|client|node|express|hono)$/

/**
 * Returns a manifest that depends on the shim in place of the SDK's workspace packages, or on the published packages that the shim does not
 * replace.
 */
const withShimOf = (manifest: string): string => {
  const parsed: { dependencies?: Record<string, string> } = JSON.parse(manifest)
  const kept = Object.entries(parsed.dependencies ?? {}).filter(([name]) => !isReplaced.test(name))
  const published = kept.map(([name, version]) => [
    name,
    name.startsWith("@modelcontextprotocol/") ? "^2.0.0" : version
  ])
  const dependencies = { ...Object.fromEntries(published), "@effect-mcp/compat": `link:${compat}` }
  return JSON.stringify({ ...parsed, dependencies, devDependencies: {} })
}

/** Copies the examples with changed imports. Returns the folder. */
const copyOf = (checkout: string, examples: ReadonlyArray<string>): string => {
  const copy = mkdtempSync(join(tmpdir(), "sdk-examples-"))
  for (const part of ["examples", "scripts/examples", "pnpm-lock.yaml", "pnpm-workspace.yaml"]) {
    cpSync(join(checkout, part), join(copy, part), { recursive: true })
  }
  const kept = new Set([...examples, ...shared])
  for (const name of readdirSync(join(copy, "examples"))) {
    const isExample = existsSync(join(copy, "examples", name, "client.ts"))
    const isKept = kept.has(name) || (examples.length === 0 && isExample)
    if (!isKept) rmSync(join(copy, "examples", name), { recursive: true })
  }
  const files = globSync("examples/**/*.ts", { cwd: copy })
  for (const file of files) edit(join(copy, file), withShim)
  for (const file of globSync("examples/*/package.json", { cwd: copy })) edit(join(copy, file), withShimOf)
  // A slow machine takes longer than the runner waits, and the next server finds the port in use.
  edit(join(copy, runner), (text) =>
    text
      .replace("setTimeout(r, 100)", "(server.once('exit', r), setTimeout(r, 5000))")
      .replaceAll(/\b(?:15|30)_000\b/g, "120_000")
  )
  edit(join(copy, "pnpm-workspace.yaml"), (text) =>
    text.replace(/^packages:\n(?: +- .*\n)+/, "packages:\n  - examples/*\n")
  )
  const own = { private: true, type: "module", dependencies: { tsx: "catalog:devTools" } }
  writeFileSync(join(copy, "package.json"), JSON.stringify(own))
  return copy
}

const keep = process.argv.includes("--keep")
const [checkout = "", ...examples] = process.argv.slice(2).filter((argument) => argument !== "--keep")
if (!existsSync(join(checkout, runner))) {
  quit(
    `${checkout === "" ? "No folder was given" : `${checkout} has no ${runner}`}; give a clone of the SDK's repository`
  )
}
const copy = copyOf(checkout, examples)
const { packageManager }: { packageManager: string } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
const install = [
  "exec",
  "--yes",
  `--package=${packageManager.split("+")[0]}`,
  "--",
  "pnpm",
  "install",
  "--ignore-scripts",
  "--no-frozen-lockfile"
]
const installed = spawnSync("npm", install, { cwd: copy, stdio: ["ignore", 2, 2], env: { ...process.env, CI: "" } })
if (installed.status !== 0) quit(`${basename(copy)}: the dependencies of the examples were not installed`)
// One process for each program: the launcher of tsx has a child, which outlives it when the runner kills it.
const tsx = join(copy, "node_modules/.bin/tsx")
rmSync(tsx, { force: true })
writeFileSync(tsx, `#!/bin/sh\nexec "${process.execPath}" --import tsx "$@"\n`, { mode: 0o755 })
const ran = spawnSync(process.execPath, ["--import", "tsx", join(copy, runner)], {
  cwd: copy,
  stdio: "inherit"
})
if (keep) console.log(`kept ${copy}`)
else rmSync(copy, { recursive: true, force: true })
process.exit(ran.status ?? 1)
