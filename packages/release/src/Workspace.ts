/** The published packages of the workspace, which are the ones that are not `private`. */
import { globSync, readFileSync } from "node:fs"
import * as path from "node:path"

export const root = path.resolve(import.meta.dirname, "../../..")

/** The target of an export: a file, or a file by condition. */
export type Target = string | { readonly [condition: string]: Target } | null

export interface Manifest {
  readonly name: string
  readonly version: string
  readonly private?: boolean
  readonly description?: string
  readonly license?: string
  readonly type?: string
  readonly homepage?: string
  readonly bugs?: string
  readonly repository?: { readonly type?: string; readonly url?: string; readonly directory?: string }
  readonly keywords?: ReadonlyArray<string>
  readonly engines?: Readonly<Record<string, string>>
  readonly sideEffects?: boolean | ReadonlyArray<string>
  readonly scripts?: Readonly<Record<string, string>>
  readonly bin?: Readonly<Record<string, string>>
  readonly exports?: Readonly<Record<string, Target>>
  readonly publishConfig?: { readonly access?: string; readonly provenance?: boolean }
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly packageManager?: string
}

export interface Package {
  /** Folder of the package. */
  readonly directory: string
  readonly manifest: Manifest
}

export const manifestOf = (directory: string): Manifest =>
  JSON.parse(readFileSync(path.join(directory, "package.json"), "utf8"))

/** Returns the published packages, each after the packages that it depends on. */
export const published = (workspace: string = root): ReadonlyArray<Package> => {
  const all = globSync("packages/*/package.json", { cwd: workspace })
    .toSorted()
    .map((file) => path.join(workspace, path.dirname(file)))
    .map((directory) => ({ directory, manifest: manifestOf(directory) }))
    .filter(({ manifest }) => manifest.private !== true)
  const ordered = new Set<Package>()
  const add = (found: Package, above: ReadonlyArray<string>): void => {
    const { dependencies = {}, name } = found.manifest
    if (above.includes(name)) throw new Error(`Packages depend on each other: ${[...above, name].join(" -> ")}`)
    for (const other of all) if (other.manifest.name in dependencies) add(other, [...above, name])
    ordered.add(found)
  }
  for (const found of all) add(found, [])
  return [...ordered]
}
