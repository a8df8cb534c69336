/**
 * `npm run lint`: syntactic rules, format and house rules over everything; rules that need types over changed files.
 * `npm run lint -- --all` runs the rules that need types over everything, as CI does.
 */
import { spawnSync } from "node:child_process"
import { resolve } from "node:path"
import { changed, isCode } from "./changed.ts"

const root = resolve(import.meta.dirname, "..")

const typed = process.argv.includes("--all") ? ["."] : changed(root).filter(isCode)
const commands = [
  ["oxlint"],
  ...(typed.length === 0 ? [] : [["oxlint", "--type-aware", ...typed]]),
  ["oxfmt", "--check", "."],
  ["node", "scripts/house.ts"]
]

const failed = commands.filter(([program = "", ...args]) => {
  const { status } = spawnSync(program, args, { cwd: root, stdio: "inherit" })
  return status !== 0
})
process.exitCode = failed.length === 0 ? 0 : 1
