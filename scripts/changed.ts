/** Files that git says have changed. */
import { spawnSync } from "node:child_process"
import { existsSync } from "node:fs"
import { join } from "node:path"

const git = (root: string, ...args: ReadonlyArray<string>): ReadonlyArray<string> =>
  spawnSync("git", args, { cwd: root, encoding: "utf8" }).stdout.split("\n")

/** Files that differ from HEAD and untracked files, relative to `root`. Deleted files are left out. */
export const changed = (root: string): ReadonlyArray<string> =>
  [...git(root, "diff", "--name-only", "HEAD"), ...git(root, "ls-files", "--others", "--exclude-standard")].filter(
    (file) => file !== "" && existsSync(join(root, file))
  )

/** True if the linter reads this file. */
export const isCode = (file: string): boolean => /\.[cm]?[jt]s$/.test(file)
