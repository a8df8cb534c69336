/** Installs the published packages into empty projects with each package manager, and runs the README's examples there. */
import * as path from "node:path"
import { pathToFileURL } from "node:url"
import { run, Skipped } from "../Command.ts"
import * as Project from "../Project.ts"
import type { Tarball } from "../Tarballs.ts"
import { binary, binOf, type Tool, versionOf } from "../Toolbox.ts"

export interface Place {
  readonly tarballs: ReadonlyArray<Tarball>
  /** The local registry. */
  readonly registry: string
  /** Folder for projects. */
  readonly to: string
}

type Scope = (registry: string) => Readonly<Record<string, string>>

interface Manager {
  readonly name: string
  /** Tool that contains the package manager. Default: the npm of this machine. */
  readonly tool?: Tool
  readonly command: string
  readonly add: ReadonlyArray<string>
  /** Peer dependencies that it does not install automatically. */
  readonly peers?: ReadonlyArray<string>
  /** Prefix of a package's name. */
  readonly prefix?: string
  /** How to configure the local registry for our scope. */
  readonly settings: Scope
  /** How to run an installed command. Default: from `node_modules/.bin`. */
  readonly exec?: ReadonlyArray<string>
  readonly runtime: "node22" | "node24" | "bun" | "deno"
  /** Files that Node needs to find packages: a file to require first, and a module loader. */
  readonly hooks?: { readonly require: string; readonly loader: string }
}

const npmrc: Scope = (registry) => ({ ".npmrc": `@effect-mcp:registry=${registry}` })

/** Configures yarn to get all other packages from npm's registry, because it doesn't read npm's configuration. */
const yarnrc =
  (linker: "pnp" | "node-modules"): Scope =>
  (registry) => ({
    ".yarnrc.yml": [
      `nodeLinker: ${linker}`,
      "enableGlobalCache: false",
      "enableTelemetry: false",
      "enableImmutableInstalls: false",
      // By default, it rejects packages that are only a few days old.
      `npmPreapprovedPackages: ["@effect-mcp/*"]`,
      `unsafeHttpWhitelist: ["127.0.0.1"]`,
      `npmRegistryServer: "\${NPM_REGISTRY}"`,
      `npmScopes: { effect-mcp: { npmRegistryServer: "${registry}" } }`
    ].join("\n"),
    "yarn.lock": ""
  })

const npm = { name: "npm", command: "npm", add: ["install", "--no-audit", "--no-fund"], settings: npmrc } as const
const yarn = { tool: "yarn", command: "yarn", add: ["add"], peers: ["redis"] } as const

/** The package managers. Other checks use the first one. */
export const managers: readonly [Manager, ...ReadonlyArray<Manager>] = [
  { ...npm, runtime: "node24" },
  { ...npm, runtime: "node22" },
  { name: "pnpm", tool: "pnpm", command: "pnpm", add: ["add"], settings: npmrc, runtime: "node24" },
  {
    ...yarn,
    name: "yarn (Plug'n'Play)",
    settings: yarnrc("pnp"),
    exec: ["yarn"],
    runtime: "node24",
    // The same hooks as `yarn node`, because a client does not pass `NODE_OPTIONS` to the server that it starts.
    hooks: { require: ".pnp.cjs", loader: ".pnp.loader.mjs" }
  },
  { ...yarn, name: "yarn (node_modules)", settings: yarnrc("node-modules"), runtime: "node22" },
  { name: "bun", tool: "bun", command: "bun", add: ["add"], settings: npmrc, runtime: "bun" },
  { name: "deno", tool: "deno", command: "deno", add: ["add"], prefix: "npm:", settings: npmrc, runtime: "deno" }
]

const title = { node22: "Node 22", node24: "Node 24", bun: "Bun", deno: "Deno" }
export const nameOf = ({ name, runtime }: Manager): string =>
  runtime === name ? title[runtime] : `${name}, ${title[runtime]}`

const runtimeOf = async ({ hooks, runtime }: Manager, directory: string): Promise<Project.Runtime> => {
  const command = runtime === "node24" ? process.execPath : await binary(runtime)
  const args = runtime === "deno" ? ["run", "-A", "--quiet"] : []
  if (hooks === undefined) return { name: title[runtime], command, args }
  const loader = pathToFileURL(path.join(directory, hooks.loader)).href
  const flags = ["--no-warnings", "--require", path.join(directory, hooks.require), "--experimental-loader", loader]
  return { name: title[runtime], command, args: flags }
}

/** Returns the folders with the programs of a package manager and its runtime. */
const folders = async ({ runtime, tool }: Manager): Promise<ReadonlyArray<string>> => {
  const node = path.dirname(runtime === "node22" ? await binary("node22") : process.execPath)
  if (tool === "bun" || tool === "deno") return [path.dirname(await binary(tool)), node]
  return tool === undefined ? [node] : [node, await binOf(tool)]
}

/** A project with all published packages installed. */
export interface Installation {
  readonly manager: Manager
  readonly project: Project.Installed
}

/** Installs the packages with a package manager. */
export const install = async (manager: Manager, place: Place): Promise<Installation> => {
  if (process.platform === "win32") throw new Skipped("the check knows only the commands of Unix")
  const directory = path.join(place.to, nameOf(manager).replaceAll(/\W+/g, "-").toLowerCase())
  Project.write(directory, place.tarballs, manager.settings(place.registry))
  const names = Project.dependencies(place.tarballs, manager.peers).map((name) => `${manager.prefix ?? ""}${name}`)
  const bin = await folders(manager)
  const { stdout: registry } = await run("npm", ["config", "get", "registry"], { cwd: directory })
  // Separate caches, because packages of other runs have the same names and versions.
  const env = {
    NPM_REGISTRY: registry.trim(),
    BUN_INSTALL_CACHE_DIR: path.join(directory, ".cache"),
    DENO_DIR: path.join(directory, ".cache"),
    DENO_NO_UPDATE_CHECK: "1"
  }
  await run(manager.command, [...manager.add, ...names], { cwd: directory, bin, env, timeout: 600_000 })
  return { manager, project: { directory, bin, env } }
}

/** Runs the examples in an installed project. */
export const tryOut = async ({ manager, project }: Installation): Promise<string> => {
  const { exec, name, tool } = manager
  const command =
    exec === undefined ? [path.join(project.directory, "node_modules/.bin/effect-mcp")] : [...exec, "effect-mcp"]
  const done = await Project.tryOut(project, await runtimeOf(manager, project.directory), command)
  return tool === undefined ? done : `${name.split(" ")[0]} ${versionOf(tool)}: ${done}`
}
