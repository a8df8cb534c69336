/** Runs `effect-mcp` as documented, with `npx` from its tarball alone, for a user with an empty home folder. */
import { mkdirSync, writeFileSync } from "node:fs"
import * as path from "node:path"
import { run, Skipped } from "../Command.ts"
import { must } from "../Project.ts"
import type { Installation, Place } from "./Installs.ts"

export const check = async ({ project }: Installation, { tarballs, to }: Place): Promise<string> => {
  if (process.platform === "win32") throw new Skipped("the check knows only the commands of Unix")
  const tarball = tarballs.find(({ manifest }) => manifest.name === "@effect-mcp/cli")
  if (tarball === undefined) throw new Error("@effect-mcp/cli was not packed")
  const [home, cwd] = [path.join(to, "home"), path.join(to, "elsewhere")]
  for (const folder of [home, cwd]) mkdirSync(folder, { recursive: true })
  const env = { ...project.env, HOME: home, CODEX_HOME: undefined, XDG_CONFIG_HOME: undefined }
  const options = { cwd, bin: project.bin ?? [], env, timeout: 120_000 }
  const command = async (...args: ReadonlyArray<string>): Promise<string> =>
    (await run("npx", ["--yes", `--package=${tarball.file}`, "--", "effect-mcp", ...args], options)).stdout
  const server = [process.execPath, path.join(project.directory, "weather.ts")]
  must("effect-mcp call", await command("call", "weather", "city=Oslo", "--", ...server), "Sunny in Oslo")
  // JSON with comments, and TOML.
  for (const host of ["claude-code", "codex"]) {
    await command("install", host, "--dry-run", "--", ...server)
    await command("install", host, "--name", "weather", "--", ...server)
  }
  const listed: ReadonlyArray<{ readonly client: string }> = JSON.parse(await command("list", "--json"))
  must("effect-mcp list", listed.map(({ client }) => client).join(), "claude-code,codex")
  const file = path.join(cwd, "servers.json")
  const [start = "", ...args] = server
  writeFileSync(file, `{ "mcpServers": { "weather": { "command": "${start}", "args": ${JSON.stringify(args)} } } }`)
  const called = await command("call", "weather", "city=Oslo", "--config", file, "--server", "weather")
  must("effect-mcp call --config", called, "Sunny in Oslo")
  for (const host of ["claude-code", "codex"]) await command("install", host, "--undo", "--name", "weather")
  must("effect-mcp list", await command("list", "--json"), "[]")
  return "npx of the tarball: call, install, list, --config, --undo"
}
