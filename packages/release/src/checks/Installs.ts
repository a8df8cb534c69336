/** Installs what is published into empty projects, by each package manager as its users do, and runs the README's examples there. */
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
  /** A folder for projects. */
  readonly to: string
}

type Scope = (registry: string) => Readonly<Record<string, string>>

interface Manager {
  readonly name: string
  /** Default: the npm of this machine. */
  readonly tool?: Tool
  readonly command: string
  readonly add: ReadonlyArray<string>
  /** What it does not install by itself: peers of packages of others. */
  readonly peers?: ReadonlyArray<string>
  /** How it names a package. */
  readonly prefix?: string
  /** Where it is told that our scope comes from the local registry. */
  readonly settings: Scope
  /** How it runs an installed command. Default: from `node_modules/.bin`. */
  readonly exec?: ReadonlyArray<string>
  readonly runtime: "node22" | "node24" | "bun" | "deno"
  /** Files of the project that its runtime needs to find packages: required first, and a loader of modules. */
  readonly hooks?: { readonly require: string; readonly loader: string }
}

const npmrc: Scope = (registry) => ({ ".npmrc": `@effect-mcp:registry=${registry}` })

/** Everything else comes from the registry that npm is configured with, which yarn does not ask. */
const yarnrc =
  (linker: "pnp" | "node-modules"): Scope =>
  (registry) => ({
    ".yarnrc.yml": [
      `nodeLinker: ${linker}`,
      "enableGlobalCache: false",
      "enableTelemetry: false",
      "enableImmutableInstalls: false",
      // It takes no package that is younger than some days.
      `npmPreapprovedPackages: ["@effect-mcp/*"]`,
      `unsafeHttpWhitelist: ["127.0.0.1"]`,
      `npmRegistryServer: "\${NPM_REGISTRY}"`,
      `npmScopes: { effect-mcp: { npmRegistryServer: "${registry}" } }`
    ].join("\n"),
    "yarn.lock": ""
  })

const npm = { name: "npm", command: "npm", add: ["install", "--no-audit", "--no-fund"], settings: npmrc } as const
const yarn = { tool: "yarn", command: "yarn", add: ["add"], peers: ["redis"] } as const

/** The first is the one that the other checks use. */
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
    // As `yarn node` starts it; a client hands down no `NODE_OPTIONS` to the server that it starts.
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

/** Where the programs of a manager and of its runtime are. */
const folders = async ({ runtime, tool }: Manager): Promise<ReadonlyArray<string>> => {
  const node = path.dirname(runtime === "node22" ? await binary("node22") : process.execPath)
  if (tool === "bun" || tool === "deno") return [path.dirname(await binary(tool)), node]
  return tool === undefined ? [node] : [node, await binOf(tool)]
}

/** An empty project, and all that is published in it. */
export interface Installation {
  readonly manager: Manager
  readonly project: Project.Installed
}

/** Installs by one manager, for one runtime. */
export const install = async (manager: Manager, place: Place): Promise<Installation> => {
  if (process.platform === "win32") throw new Skipped("the check knows only the commands of Unix")
  const directory = path.join(place.to, nameOf(manager).replaceAll(/\W+/g, "-").toLowerCase())
  Project.write(directory, place.tarballs, manager.settings(place.registry))
  const names = Project.dependencies(place.tarballs, manager.peers).map((name) => `${manager.prefix ?? ""}${name}`)
  const bin = await folders(manager)
  const { stdout: registry } = await run("npm", ["config", "get", "registry"], { cwd: directory })
  // Caches of their own: another run's packages have the same names and versions.
  const env = {
    NPM_REGISTRY: registry.trim(),
    BUN_INSTALL_CACHE_DIR: path.join(directory, ".cache"),
    DENO_DIR: path.join(directory, ".cache"),
    DENO_NO_UPDATE_CHECK: "1"
  }
  await run(manager.command, [...manager.add, ...names], { cwd: directory, bin, env, timeout: 600_000 })
  return { manager, project: { directory, bin, env } }
}

/** Runs the examples where they were installed. */
export const tryOut = async ({ manager, project }: Installation): Promise<string> => {
  const { exec, name, tool } = manager
  const command =
    exec === undefined ? [path.join(project.directory, "node_modules/.bin/effect-mcp")] : [...exec, "effect-mcp"]
  const done = await Project.tryOut(project, await runtimeOf(manager, project.directory), command)
  return tool === undefined ? done : `${name.split(" ")[0]} ${versionOf(tool)}: ${done}`
}
