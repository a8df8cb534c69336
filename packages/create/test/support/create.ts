/** Runs the command in a temporary folder. */
import { run } from "@effect-mcp/create/run"
import { Effect } from "effect"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

export const manifestOf = (folder: string) => JSON.parse(readFileSync(join(folder, "package.json"), "utf8"))

export const temporary = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "effect-mcp-create-"))),
  (folder) => Effect.sync(() => rmSync(folder, { recursive: true }))
)

/** Runs the command in a folder. */
export const create = (cwd: string, ...argv: ReadonlyArray<string>) => createBy({}, cwd, ...argv)

/** Runs the command with environment variables. */
export const createBy = (env: { readonly [name: string]: string }, cwd: string, ...argv: ReadonlyArray<string>) => {
  const said = { stdout: "", stderr: "" }
  const to = (name: "stderr" | "stdout") => ({ write: (text: string) => (said[name] += text) })
  const code = run(argv, { cwd: () => cwd, env, stdout: to("stdout"), stderr: to("stderr") })
  return { code, ...said }
}
