/**
 * `npm run release`: packs the published packages, tests them as a new user would, and publishes the tested tarballs. `--dry-run` skips the
 * publishing. `--quick` runs only the checks that CI runs. `--next` creates the next version from the recorded changes. `--create FOLDER`
 * creates a project that contains the packages.
 */
import { mkdtempSync, rmSync } from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { parseArgs } from "node:util"
import * as Bundles from "./checks/Bundles.ts"
import * as Cli from "./checks/Cli.ts"
import * as Created from "./checks/Created.ts"
import * as Installs from "./checks/Installs.ts"
import * as Lint from "./checks/Lint.ts"
import * as Loaders from "./checks/Loaders.ts"
import * as Types from "./checks/Types.ts"
import * as Workers from "./checks/Workers.ts"
import * as FromClone from "./FromClone.ts"
import { run, Skipped } from "./Command.ts"
import * as Registry from "./Registry.ts"
import { pack, type Tarball } from "./Tarballs.ts"
import { binOf } from "./Toolbox.ts"
import { published, root } from "./Workspace.ts"

interface Check {
  readonly name: string
  /** Whether to also run the check with `--quick`. */
  readonly quick?: boolean
  readonly run: () => Promise<string>
}

const seconds = (start: number): string => `${((performance.now() - start) / 1000).toFixed(1)} s`.padStart(8)

/** Runs the checks one after another and prints a line for each. Returns the numbers of failed and skipped checks. */
const runAll = async (checks: ReadonlyArray<Check>): Promise<{ readonly failed: number; readonly skipped: number }> => {
  let failed = 0
  let skipped = 0
  for (const { name, run } of checks) {
    const start = performance.now()
    const line = (state: string, text: string) =>
      console.log(`${state.padEnd(8)}${seconds(start)}  ${name}: ${text.replaceAll("\n", "\n    ")}`)
    try {
      line("ok", await run())
    } catch (error) {
      if (error instanceof Skipped) skipped += 1
      else failed += 1
      line(error instanceof Skipped ? "skipped" : "FAILED", error instanceof Error ? error.message : String(error))
    }
  }
  return { failed, skipped }
}

/** Publishes to the local registry, with the same command as for any other. */
const publishLocally = async (tarballs: ReadonlyArray<Tarball>, registry: Registry.Registry): Promise<string> => {
  const token = `--//${new URL(registry.url).host}/:_authToken=none`
  for (const { file, manifest } of tarballs) {
    const [scope] = manifest.name.split("/")
    // A setting for the scope takes precedence over the general one.
    const registries = [`--registry=${registry.url}`, `--${scope}:registry=${registry.url}`]
    const args = ["publish", file, ...registries, token, "--provenance=false"]
    await run("npm", args, { cwd: path.dirname(file) })
  }
  return `${registry.names().length} packages to a registry on this machine`
}

/** Publishes to npm's configured registry, with provenance. Skips versions that are already published. */
const publish = async (tarballs: ReadonlyArray<Tarball>): Promise<void> => {
  for (const { file, manifest } of tarballs) {
    const cwd = path.dirname(file)
    const name = `${manifest.name}@${manifest.version}`
    const there = await run("npm", ["view", name, "version"], { cwd }).then(
      ({ stdout }) => stdout.trim() !== "",
      () => false
    )
    if (!there) await run("npm", ["publish", file], { cwd })
    console.log(`${name} ${there ? "is published already" : "published"}`)
  }
}

/** Creates the next version from `.changeset/`: updates the manifests, the changelogs and the lock file. */
const nextVersion = async (): Promise<void> => {
  const bin = [path.dirname(process.execPath), await binOf("changesets"), await binOf("pnpm")]
  const { stderr, stdout } = await run("changeset", ["version"], { cwd: root, bin })
  console.log(`${stdout}${stderr}`.trim())
}

const checksOf = (tarballs: ReadonlyArray<Tarball>, registry: Registry.Registry, to: string): ReadonlyArray<Check> => {
  const place = { tarballs, registry: registry.url, to: path.join(to, "projects") }
  const [npm, ...others] = Installs.managers
  const installation = Installs.install(npm, place)
  // A failed installation is reported by the check that waits for it.
  installation.catch(() => {})
  return [
    { name: "manifests", quick: true, run: () => Lint.manifests(tarballs) },
    { name: "files", quick: true, run: () => Lint.files(tarballs) },
    { name: "publint", quick: true, run: () => Lint.publint(tarballs) },
    { name: "arethetypeswrong", quick: true, run: () => Lint.attw(tarballs) },
    { name: Installs.nameOf(npm), quick: true, run: async () => Installs.tryOut(await installation) },
    { name: "effect-mcp", quick: true, run: async () => Cli.check(await installation, place) },
    { name: "npm create", quick: true, run: async () => Created.check(await installation, place) },
    { name: "npm run create", quick: true, run: async () => Created.checkOfClone(await installation, place) },
    ...Loaders.combinations.map((node) => ({
      name: Loaders.nameOf(node),
      quick: node === "node24",
      run: async () => Loaders.check(node, await installation)
    })),
    ...Types.combinations.map((combination) => ({
      name: Types.nameOf(combination),
      run: async () => Types.compile((await installation).project.directory, tarballs, combination)
    })),
    { name: "compiled examples", run: async () => Types.runCompiled((await installation).project.directory, tarballs) },
    ...Bundles.bundlers.map((bundler) => ({
      name: `bundle, ${bundler.tool}`,
      run: async () => {
        const project = (await installation).project.directory
        const compiled = await Types.compiled(project, tarballs)
        return Bundles.check(bundler, { project, compiled, to: path.join(to, "bundles") })
      }
    })),
    {
      name: "Workers",
      run: async () => Workers.check(await Types.compiled((await installation).project.directory, tarballs), to)
    },
    ...others.map((manager) => ({
      name: Installs.nameOf(manager),
      run: async () => Installs.tryOut(await Installs.install(manager, place))
    }))
  ]
}

/** Packs without checks, and creates a project with the packages, relative to the user's folder. */
const create = async (argv: ReadonlyArray<string>): Promise<void> => {
  const to = mkdtempSync(path.join(os.tmpdir(), "effect-mcp-create-"))
  try {
    const isHelp = argv.length === 0 || argv.includes("--help")
    if (!isHelp) console.error("Packing the packages of this clone, which can take up to two minutes ...")
    const tarballs = isHelp ? [] : await pack(published(), to)
    const cwd = (): string => process.env["INIT_CWD"] ?? process.cwd()
    process.exitCode = FromClone.create(argv, tarballs, { cwd, stdout: process.stdout, stderr: process.stderr })
  } finally {
    rmSync(to, { recursive: true, force: true })
  }
}

const main = async (): Promise<void> => {
  const [first, ...others] = process.argv.slice(2)
  if (first === "--create") return create(others)
  const { values } = parseArgs({
    options: {
      "dry-run": { type: "boolean", default: false },
      keep: { type: "boolean", default: false },
      next: { type: "boolean", default: false },
      only: { type: "string", default: "" },
      quick: { type: "boolean", default: false }
    }
  })
  if (values.next) return nextVersion()
  const isWhole = !values.quick && values.only === ""
  if (!values["dry-run"] && !isWhole) throw new Error("--quick and --only check a part: they need --dry-run")
  const to = mkdtempSync(path.join(os.tmpdir(), "effect-mcp-release-"))
  const start = performance.now()
  const line = (state: string, text: string) => console.log(`${state.padEnd(8)}${seconds(start)}  ${text}`)
  const tarballs = await pack(published(), to)
  line("packed", tarballs.map(({ manifest }) => manifest.name).join(", "))
  const registry = await Registry.open()
  line("served", await publishLocally(tarballs, registry))
  const checks = checksOf(tarballs, registry, to).filter(
    ({ name, quick = false }) => (quick || !values.quick) && name.includes(values.only)
  )
  const { failed, skipped } = await runAll(checks)
  await registry.close()
  line("in all", `${checks.length - failed - skipped} passed, ${failed} failed, ${skipped} skipped`)
  if (failed > 0) process.exitCode = 1
  else if (!values["dry-run"]) await publish(tarballs)
  if (values.keep) line("kept", to)
  else rmSync(to, { recursive: true, force: true })
}

await main()
