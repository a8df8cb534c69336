/** Which names a client may use in a workspace. */
import * as Names from "@effect-mcp/server/folder/Names"

/** Dot files are part of a workspace; these folders are not, whatever the tool: neither listed, nor searched, read or renamed into. */
export const admits = Names.policy({
  hidden: true,
  ignored: [".git", ".hg", ".svn", "node_modules", "dist", "coverage", ".tsbuildinfo"]
})

/** The segments of a path that a client may name, or `undefined`. */
export const parse = (path: string): Names.Names | undefined => Names.parse(path, admits)
