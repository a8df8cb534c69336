/**
 * Writes our servers as users have them: the packages' published files in a separate `node_modules`, and a single-file bundle. Sources would
 * start more slowly, because types are stripped at run time.
 *
 * The directory is a snapshot. Another directory can hold another build to compare with.
 */
import { spawnSync } from "node:child_process"
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import * as path from "node:path"
import { rolldown } from "rolldown"
import { exportsOf } from "@effect-mcp/release/Exports"
import { manifestOf } from "@effect-mcp/release/Workspace"
import { output } from "./bundle.ts"
import { link, linked } from "./Linked.ts"
import { root } from "./Process.ts"
import { ours } from "./Servers.ts"

const packages = path.dirname(root)

const compile = (unchecked: boolean): void => {
  const { status, stdout } = spawnSync("tsc", ["-b", path.join(root, "src")], { encoding: "utf8" })
  if (status !== 0 && !unchecked) throw new Error(`The build failed:\n${stdout}`)
}

const install = (name: string, modules: string): void => {
  const from = path.join(packages, name)
  const to = path.join(modules, "@effect-mcp", name)
  const manifest = manifestOf(from)
  cpSync(path.join(from, "dist"), path.join(to, "dist"), {
    recursive: true,
    filter: (file) => !/\.(map|d\.ts)$/.test(file)
  })
  writeFileSync(path.join(to, "package.json"), JSON.stringify({ ...manifest, exports: exportsOf(from, manifest) }))
  for (const dependency of Object.keys(manifest.dependencies ?? {})) {
    const link = path.join(modules, dependency)
    if (dependency.startsWith("@effect-mcp/") || existsSync(link)) continue
    mkdirSync(path.dirname(link), { recursive: true })
    symlinkSync(path.join(from, "node_modules", dependency), link)
  }
}

/** Compiles the packages into `directory`, relative to the bench. With `unchecked`, type errors are ignored. */
export const make = async (directory: string = ours, unchecked = false): Promise<void> => {
  compile(unchecked)
  const to = path.join(root, directory)
  const modules = path.join(to, "node_modules")
  rmSync(to, { recursive: true, force: true })
  for (const name of linked) {
    await link(name)
    install(name, modules)
  }
  install("operate", modules)
  install("tasks", modules)
  install("nodes", modules)
  install("promise", modules)
  install("testing", modules)
  install("fuzz", modules)
  for (const file of readdirSync(path.join(root, "dist/servers"))) {
    if (file.endsWith(".js")) cpSync(path.join(root, "dist/servers", file), path.join(to, file))
  }
  const bundle = await rolldown({ input: path.join(to, "stdio.js"), platform: "node", logLevel: "silent" })
  // Modules that load on first use stay separate. In one file, every module would have to be wrapped in a function.
  await bundle.write({
    ...output,
    dir: to,
    entryFileNames: "bundled.js",
    chunkFileNames: "bundled-[name].js"
  })
  await bundle.close()
}

// Usage: `node src/Published.ts [directory] [--unchecked]`.
if (import.meta.main) await make(process.argv[2], process.argv.includes("--unchecked"))
