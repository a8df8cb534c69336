/** Converts the `exports` of a workspace manifest, which refer to sources, to the `exports` of the published package. */
import { existsSync } from "node:fs"
import * as path from "node:path"
import type { Manifest, Target } from "./Workspace.ts"

/** True for a program, which is published as a bundle without modules to import. */
const isProgram = ({ bin }: Manifest): boolean => bin !== undefined

/** Returns the published target of a source: its declarations, and its linked file if the build made one. */
const published = (directory: string, source: string): Target => {
  const name = source.replace(/^\.\/src\//, "").replace(/\.ts$/, "")
  const linked = `./dist/linked/${name}.js`
  return {
    types: `./dist/${name}.d.ts`,
    default: existsSync(path.join(directory, linked)) ? linked : `./dist/${name}.js`
  }
}

/** Returns the exports to publish. The package has to be built. */
export const exportsOf = (directory: string, manifest: Manifest): NonNullable<Manifest["exports"]> =>
  Object.fromEntries(
    Object.entries(manifest.exports ?? {}).flatMap(([subpath, target]): Array<[string, Target]> => {
      if (typeof target !== "string" || !target.endsWith(".ts")) return [[subpath, target]]
      return isProgram(manifest) ? [] : [[subpath, published(directory, target)]]
    })
  )
