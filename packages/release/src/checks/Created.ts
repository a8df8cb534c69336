/** Makes projects by the published `create`, installs them as users do, and runs their tests and their type check. */
import { writeFileSync } from "node:fs"
import * as path from "node:path"
import { run, Skipped } from "../Command.ts"
import type { Installation, Place } from "./Installs.ts"

/** Those with other dependencies: over HTTP a project has the same. */
const variants = [[], ["--promise"]]

export const check = async ({ project }: Installation, { registry, to }: Place): Promise<string> => {
  if (process.platform === "win32") throw new Skipped("the check knows only the commands of Unix")
  const create = path.join(project.directory, "node_modules/.bin/create")
  const { bin = [], env = {} } = project
  const options = { bin, env, timeout: 600_000 }
  for (const variant of variants) {
    const folder = path.join(to, ["created", ...variant].join(""))
    await run(create, [folder, ...variant], { cwd: project.directory, ...options })
    writeFileSync(path.join(folder, ".npmrc"), `@effect-mcp:registry=${registry}`)
    await run("npm", ["install", "--no-audit", "--no-fund"], { cwd: folder, ...options })
    for (const script of ["test", "check"]) await run("npm", ["run", script], { cwd: folder, ...options })
  }
  return `${variants.length} projects are installed, compiled and tested`
}
