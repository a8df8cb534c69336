/** Creates projects with the published `create` and from a clone, installs them, and runs their tests and their type check. */
import { writeFileSync } from "node:fs"
import * as path from "node:path"
import { run, Skipped } from "../Command.ts"
import * as FromClone from "../FromClone.ts"
import * as Registry from "../Registry.ts"
import type { Installation, Place } from "./Installs.ts"

/** Variants with different dependencies. Over HTTP, a project has the same dependencies. */
const variants = [[], ["--promise"]]

const tryOut = async (folder: string, { project: { bin = [], env = {} } }: Installation): Promise<void> => {
  const options = { cwd: folder, bin, env, timeout: 600_000 }
  await run("npm", ["install", "--no-audit", "--no-fund"], options)
  for (const script of ["test", "check"]) await run("npm", ["run", script], options)
}

export const check = async (installation: Installation, { registry, to }: Place): Promise<string> => {
  if (process.platform === "win32") throw new Skipped("the check knows only the commands of Unix")
  const { bin = [], directory, env = {} } = installation.project
  const create = path.join(directory, "node_modules/.bin/create")
  for (const variant of variants) {
    const folder = path.join(to, ["created", ...variant].join(""))
    await run(create, [folder, ...variant], { cwd: directory, bin, env })
    writeFileSync(path.join(folder, ".npmrc"), `@effect-mcp:registry=${registry}`)
    await tryOut(folder, installation)
  }
  return `${variants.length} projects are installed, compiled and tested`
}

/** Checks projects from a clone, with a registry that has none of our packages. */
export const checkOfClone = async (installation: Installation, { tarballs, to }: Place): Promise<string> => {
  if (process.platform === "win32") throw new Skipped("the check knows only the commands of Unix")
  const empty = await Registry.open()
  const silent = { write: () => undefined }
  try {
    for (const variant of variants) {
      const folder = ["cloned", ...variant].join("")
      const code = FromClone.create([folder, ...variant], tarballs, { cwd: () => to, stdout: silent, stderr: silent })
      if (code !== 0) throw new Error(`create ${folder} ended with ${code}`)
      writeFileSync(path.join(to, folder, ".npmrc"), `@effect-mcp:registry=${empty.url}`)
      await tryOut(path.join(to, folder), installation)
    }
  } finally {
    await empty.close()
  }
  return `${variants.length} projects are installed from files, compiled and tested`
}
