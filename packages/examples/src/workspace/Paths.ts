/** Rules for the names that a client may use in a workspace. */
import * as Names from "@effect-mcp/server/folder/Names"

/**
 * Excludes these folders from every feature: they are not listed, searched or
 * read, and nothing is renamed into them. Dot files are included.
 */
export const admits = Names.policy({
  hidden: true,
  ignored: [
    ".git",
    ".hg",
    ".svn",
    "node_modules",
    "dist",
    "coverage",
    ".tsbuildinfo"
  ]
})

/**
 * Returns the segments of a path, or `undefined` if a client may not use it.
 */
export const parse = (path: string): Names.Names | undefined =>
  Names.parse(path, admits)
