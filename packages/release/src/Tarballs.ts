/**
 * Packs the packages for publication. pnpm replaces `workspace:` with versions, the exports are changed to the built files, unreachable files
 * are removed, and npm packs the rest. These tarballs are tested and published.
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
  /** Folder with the unpacked contents. */
  readonly directory: string
  readonly manifest: Manifest
  readonly files: number
  /** Compressed size in bytes. */
  readonly size: number
  /** Number of files that were removed because they are unreachable. */
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
  // Without it, `prepack` rejects the package.
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

/** Empties the folder `to` and packs each package into it. */
export const pack = async (packages: ReadonlyArray<Package>, to: string): Promise<ReadonlyArray<Tarball>> => {
  rmSync(to, { recursive: true, force: true })
  mkdirSync(to, { recursive: true })
  return Promise.all(packages.map((found) => packOne(found, to)))
}
