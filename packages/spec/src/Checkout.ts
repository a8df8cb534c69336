/** Copies of this checkout, for programs that change its sources and run its tests. */
import { cpSync, mkdirSync, readdirSync, realpathSync, symlinkSync } from "node:fs"
import { join } from "node:path"
import { root } from "./Results.ts"

const workspace = "node_modules/@effect-mcp"

/** Folders that a copy shares with the checkout or does not need. */
const left = new Set([".git", "node_modules", "coverage", ".tsbuildinfo"].map((name) => join(root, name)))

/** Throws if a package of the copy imports the checkout's packages, because its tests would not see the changes. */
const check = (directory: string, link: string, target: string): void => {
  const linked = realpathSync(join(directory, link))
  if (linked !== join(realpathSync(directory), target))
    throw new Error(`The copy imports ${linked} instead of its own packages in ${directory}.`)
}

/** Copies the checkout to a directory that does not exist yet. The copy shares the installed modules and imports its own packages. */
export const copyTo = (directory: string): void => {
  cpSync(root, directory, { recursive: true, verbatimSymlinks: true, filter: (path) => !left.has(path) })
  mkdirSync(join(directory, "node_modules"))
  for (const name of readdirSync(join(root, "node_modules")))
    if (join("node_modules", name) !== workspace)
      symlinkSync(join(root, "node_modules", name), join(directory, "node_modules", name), "junction")
  // These links are relative: in the copy, they lead to the packages of the copy.
  cpSync(join(root, workspace), join(directory, workspace), { recursive: true, verbatimSymlinks: true })
  check(directory, "packages/core/node_modules/@effect-mcp/protocol", "packages/protocol")
  check(directory, `${workspace}/testing`, "packages/testing")
}
