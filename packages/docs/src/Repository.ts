/** The folders of the repository, and the published packages. */
import { globSync, readFileSync } from "node:fs"
import * as path from "node:path"

export const root = path.resolve(import.meta.dirname, "../../..")
export const docs = path.join(root, "packages/docs")

interface Manifest {
  readonly name: string
  readonly description: string
  readonly private?: boolean
  readonly exports: Readonly<Record<string, string>>
  readonly bin?: object
}

export interface Package {
  /** Folder below `packages`. */
  readonly folder: string
  readonly name: string
  readonly description: string
  /** Sources of the published modules, by subpath. */
  readonly exports: ReadonlyArray<readonly [subpath: string, source: string]>
}

const manifests = globSync("packages/*/package.json", { cwd: root })
  .toSorted()
  .map((file): readonly [folder: string, manifest: Manifest] => [
    path.basename(path.dirname(file)),
    JSON.parse(readFileSync(path.join(root, file), "utf8"))
  ])

/** The published packages, sorted by folder. */
export const published: ReadonlyArray<Package> = manifests
  .filter(([, manifest]) => manifest.private !== true)
  .map(([folder, { bin, description, exports, name }]) => ({
    folder,
    name,
    description,
    exports: bin === undefined ? Object.entries(exports) : []
  }))

/** Returns the URL of the hosted page for a file or folder of the repository. */
export const hosted = (file: string): string =>
  `https://github.com/effect-mcp/effect-mcp/blob/main/${file.split(path.sep).join("/")}`
