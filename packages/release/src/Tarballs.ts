/**
 * Packs the packages as they are published. pnpm writes versions in place of `workspace:`, and the exports then name what was
 * built; files that no user can get to are left out; npm packs the rest. These files are what is tried, and what is published.
 */
import { copyFileSync, existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs"
import * as path from "node:path"
import { run } from "./Command.ts"
import { exportsOf } from "./Exports.ts"
import { prune } from "./Reachable.ts"
import { binOf } from "./Toolbox.ts"
import { type Manifest, manifestOf, type Package, root } from "./Workspace.ts"

export interface Tarball {
  readonly file: string
  /** Its contents, unpacked. */
  readonly directory: string
  readonly manifest: Manifest
  readonly files: number
  /** Bytes, compressed. */
  readonly size: number
  /** How many files were left out because nothing leads to them. */
  readonly pruned: number
}

const only = (directory: string): string => {
  const [name, ...others] = readdirSync(directory)
  if (name === undefined || others.length > 0) throw new Error(`${directory} does not hold exactly one tarball`)
  return path.join(directory, name)
}

const packOne = async (found: Package, to: string): Promise<Tarball> => {
  const name = path.basename(found.directory)
  const raw = path.join(to, "raw", name)
  const directory = path.join(to, "unpacked", name)
  const out = path.join(to, "tarballs", name)
  for (const folder of [raw, directory, out]) mkdirSync(folder, { recursive: true })
  // The one way past `prepack`, which refuses every other.
  const env = { EFFECT_MCP_RELEASE: "true" }
  await run("pnpm", ["pack", "--pack-destination", raw], { cwd: found.directory, bin: [await binOf("pnpm")], env })
  await run("tar", ["-xzf", only(raw), "--strip-components=1", "-C", directory], { cwd: to })
  const licence = path.join(directory, "LICENSE")
  if (!existsSync(licence)) copyFileSync(path.join(root, "LICENSE"), licence)
  const packed = manifestOf(directory)
  const manifest = { ...packed, exports: exportsOf(found.directory, packed) }
  writeFileSync(path.join(directory, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`)
  const pruned = prune(directory, manifest)
  await run("npm", ["pack", "--ignore-scripts", "--pack-destination", out], { cwd: directory })
  const file = only(out)
  const files = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  return { file, directory, manifest, files: files.length, size: statSync(file).size, pruned }
}

/** Packs each package below `to`, which is emptied before. */
export const pack = async (packages: ReadonlyArray<Package>, to: string): Promise<ReadonlyArray<Tarball>> => {
  rmSync(to, { recursive: true, force: true })
  mkdirSync(to, { recursive: true })
  return Promise.all(packages.map((found) => packOne(found, to)))
}
