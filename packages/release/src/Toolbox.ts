/**
 * Third-party tools, each with an exact version. They are installed on first use into separate folders, so that they don't slow down the
 * installation of the workspace.
 */
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs"
import * as path from "node:path"
import { run, Skipped } from "./Command.ts"
import { manifestOf, root } from "./Workspace.ts"

const [, pnpm = "latest"] = manifestOf(root).packageManager?.split(/[@+]/) ?? []
const { vitest = "latest" } = manifestOf(root).devDependencies ?? {}
const platform = `${process.platform}-${process.arch}`

/**
 * Packages to install for each tool. If a package only downloads a binary on installation, this is the package that contains the binary.
 */
const tools = {
  attw: ["@arethetypeswrong/cli@0.18.5"],
  bun: ["bun@1.4.5"],
  changesets: ["@changesets/cli@3.0.3"],
  deno: ["deno@2.9.6"],
  esbuild: ["esbuild@0.28.2"],
  jest: ["jest@30.5.2"],
  miniflare: ["miniflare@4.20260730.0"],
  node20: [`node-${platform}@20.20.2`],
  node22: [`node-${platform}@22.23.3`],
  pnpm: [`pnpm@${pnpm}`],
  publint: ["publint@0.3.25"],
  rolldown: ["rolldown@1.3.2"],
  stryker: ["@stryker-mutator/core@10.1.1", "@stryker-mutator/vitest-runner@10.1.1", `vitest@${vitest}`],
  tsNode: ["ts-node@10.9.2", "typescript@5.9.3"],
  tsx: ["tsx@4.23.15"],
  typescript5: ["typescript@5.9.3"],
  typescript7: ["typescript@7.0.2"],
  vite: ["vite@8.3.8"],
  webpack: ["webpack@5.112.2", "webpack-cli@7.3.1"],
  yarn: ["@yarnpkg/cli-dist@4.18.1"]
} as const satisfies Readonly<Record<string, ReadonlyArray<string>>>

export type Tool = keyof typeof tools

export const versionOf = (tool: Tool): string => tools[tool][0].split("@").at(-1) ?? ""

const cache = path.join(root, "node_modules/.cache/release")

const installations = new Map<Tool, Promise<string>>()

/** Installs a tool and returns its folder. The programs are in `node_modules/.bin`. */
export const install = (tool: Tool): Promise<string> => {
  const found = installations.get(tool) ?? installed(tool)
  installations.set(tool, found)
  return found
}

const installed = async (tool: Tool): Promise<string> => {
  const packages = tools[tool]
  const directory = path.join(cache, packages.join("+").replaceAll("/", "-"))
  if (existsSync(directory)) return directory
  mkdirSync(cache, { recursive: true })
  const made = mkdtempSync(path.join(cache, `.${tool}-`))
  writeFileSync(path.join(made, "package.json"), JSON.stringify({ private: true }))
  try {
    await run("npm", ["install", "--ignore-scripts", "--no-audit", "--no-fund", ...packages], { cwd: made })
    renameSync(made, directory)
    return directory
  } catch (error) {
    throw new Skipped(`${packages.join(", ")} cannot be installed: ${String(error)}`, { cause: error })
  } finally {
    rmSync(made, { recursive: true, force: true })
  }
}

/** Returns the folder with a tool's programs. */
export const binOf = async (tool: Tool): Promise<string> => path.join(await install(tool), "node_modules/.bin")

/** Returns the binary of a runtime. Bun's package only contains one after its install script has run. */
export const binary = async (runtime: "bun" | "deno" | "node20" | "node22"): Promise<string> => {
  const modules = path.join(await install(runtime), "node_modules")
  const places = {
    bun: [`@oven/bun-${platform}/bin/bun`],
    deno: [`@deno/${platform}-glibc/deno`, `@deno/${platform}/deno`],
    node20: [`node-${platform}/bin/node`],
    node22: [`node-${platform}/bin/node`]
  }[runtime]
  const found = places.map((place) => path.join(modules, place)).find(existsSync)
  if (found === undefined) throw new Skipped(`${runtime} has no binary for ${platform}`)
  return found
}
