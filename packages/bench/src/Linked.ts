/**
 * Links the packages for publication: puts the modules of each package into one file, with a small file per public module that exports its
 * part. Node needs most of a millisecond to find, read and link a module, however small, and a server has ninety of ours.
 *
 * Modules that load on first use stay separate. Each module exists once, whichever name it is imported by. Other packages (Effect and our
 * own) remain imports. The compiler's declarations lie next to the file.
 */
import { readFileSync, rmSync, writeFileSync } from "node:fs"
import * as path from "node:path"
import { type OutputChunk, type Plugin, rolldown } from "rolldown"
import { root } from "./Process.ts"
import { pureCalls } from "./PureCalls.ts"

const packages = path.dirname(root)

/**
 * The packages that a program loads at its start, each with the groups of modules to link. All others are published unlinked. A group has the
 * named modules with all their imports, except those in an earlier group. A group without names has all remaining modules.
 */
const groups: Readonly<Record<string, Readonly<Record<string, ReadonlyArray<string>>>>> = {
  protocol: { start: [], validator: ["schema/JsonSchemaValidator"] },
  core: { start: [] },
  server: { start: ["McpServer"], http: ["http/RouterEndpoint"] },
  client: {
    start: ["McpClient"],
    httpClient: ["transport/Http", "transport/Sse"]
  }
}
export const linked = Object.keys(groups)

/** The module that exports all others. It stays a separate file, because bundlers would keep everything that it names. */
const barrel = "index"

interface Manifest {
  readonly exports: Readonly<Record<string, string>>
}

/** Returns the public modules of a package: their paths below `src`, without the extension, and their files. */
const entries = (directory: string): Record<string, string> => {
  const { exports }: Manifest = JSON.parse(readFileSync(path.join(directory, "package.json"), "utf8"))
  const modules = Object.values(exports).filter((file) => file.endsWith(".ts"))
  return Object.fromEntries(
    modules
      .map((file) => [file.slice("./src/".length, -".ts".length), path.join(directory, file)] as const)
      .filter(([name]) => name !== barrel)
  )
}

/** Assigns each module to a group, once all modules are known. */
const grouped = (directory: string, name: string) => {
  const groupOf = new Map<string, string>()
  const plugin: Plugin = {
    name: "groups",
    buildEnd() {
      const parts = Object.entries(groups[name] ?? {})
      const named = new Set(parts.flatMap(([, roots]) => roots))
      const others = Object.keys(entries(directory)).filter((entry) => !named.has(entry))
      for (const [group, roots] of parts) {
        const add = (id: string): void => {
          const module = this.getModuleInfo(id)
          if (module === null || groupOf.has(id)) return
          // A bundler keeps everything that a file may load later as soon as it keeps any part of the file.
          groupOf.set(id, module.dynamicallyImportedIds.length === 0 ? group : "")
          module.importedIds.forEach(add)
        }
        for (const root of roots.length === 0 ? others : roots) {
          const id = path.join(directory, "src", `${root}.ts`)
          // Otherwise a renamed module would silently end up in the start of each bundle.
          if (this.getModuleInfo(id) === null) throw new Error(`The group ${group} of ${name} names no module: ${root}`)
          add(id)
        }
      }
    }
  }
  return { plugin, groupOf }
}

/** Removes the sources from a source map, because they are published next to it. */
const withoutContents = (file: string): void => {
  const { sourcesContent: _, ...map } = JSON.parse(readFileSync(file, "utf8"))
  writeFileSync(file, JSON.stringify(map))
}

/** Links a package's sources into its `dist/linked`. Returns the files with their modules. */
export const link = async (name: string): Promise<ReadonlyArray<OutputChunk>> => {
  const directory = path.join(packages, name)
  const { groupOf, plugin } = grouped(directory, name)
  const to = path.join(directory, "dist/linked")
  rmSync(to, { recursive: true, force: true })
  const bundle = await rolldown({
    input: entries(directory),
    platform: "node",
    logLevel: "warn",
    external: (id) => !id.startsWith(".") && !path.isAbsolute(id),
    preserveEntrySignatures: "strict",
    experimental: { nativeMagicString: true },
    plugins: [pureCalls, plugin]
  })
  const { output } = await bundle.write({
    dir: to,
    format: "esm",
    sourcemap: true,
    comments: { annotation: true, jsdoc: false, legal: true },
    entryFileNames: "[name].js",
    chunkFileNames: "chunks/[name].js",
    codeSplitting: {
      groups: Object.keys(groups[name] ?? {}).map((group) => ({
        name: group,
        test: (id: string) => groupOf.get(id) === group
      }))
    }
  })
  await bundle.close()
  for (const { sourcemapFileName } of output.filter((file) => file.type === "chunk")) {
    if (sourcemapFileName !== null) withoutContents(path.join(to, sourcemapFileName))
  }
  const names = readFileSync(path.join(directory, "src", `${barrel}.ts`), "utf8")
  writeFileSync(path.join(to, `${barrel}.js`), names.replaceAll('.ts"', '.js"'))
  return output.filter((file) => file.type === "chunk")
}

if (import.meta.main) for (const name of linked) await link(name)
