/** The folders of the repository, and its packages that are published. */
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
  /** Its folder below `packages`. */
  readonly folder: string
  readonly name: string
  readonly description: string
  /** The sources of the modules that are published, by their subpath. */
  readonly exports: ReadonlyArray<readonly [subpath: string, source: string]>
}

const manifests = globSync("packages/*/package.json", { cwd: root })
  .toSorted()
  .map((file): readonly [folder: string, manifest: Manifest] => [
    path.basename(path.dirname(file)),
    JSON.parse(readFileSync(path.join(root, file), "utf8"))
  ])

/** In the order of their folders' names. */
export const published: ReadonlyArray<Package> = manifests
  .filter(([, manifest]) => manifest.private !== true)
  .map(([folder, { bin, description, exports, name }]) => ({
    folder,
    name,
    description,
    exports: bin === undefined ? Object.entries(exports) : []
  }))

/** The page of a file or folder of the repository where it is hosted. */
export const hosted = (file: string): string =>
  `https://github.com/effect-mcp/effect-mcp/blob/main/${file.split(path.sep).join("/")}`
