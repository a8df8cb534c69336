/**
 * The packages as they are published: the modules of each in one file, linked beforehand, and one small file per module that users may
 * import, which names its part of it. Node needs most of a millisecond to find, read and link a module, however small it is, and a
 * server of this library has ninety.
 *
 * What is loaded when it is used stays apart; modules exist once, whichever name they are imported by; other packages (Effect, and our
 * own) stay imports. Declarations are those of the compiler, beside it.
 */
import { readFileSync, rmSync, writeFileSync } from "node:fs"
import * as path from "node:path"
import { type OutputChunk, type Plugin, rolldown } from "rolldown"
import { root } from "./Process.ts"
import { pureCalls } from "./PureCalls.ts"

const packages = path.dirname(root)

/**
 * The packages that a program reads when it starts (the others are published as the compiler leaves them), and what is put together of
 * each: some modules and all that they import, unless a group before has it; without modules, everything that no other group names.
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

/** A package's names for all of its modules; each stays a file of its own, since what is named here would be kept by every bundler. */
const barrel = "index"

interface Manifest {
  readonly exports: Readonly<Record<string, string>>
}

/** The modules that a package's manifest lets users import: their paths below `src`, without the ending, and their files. */
const entries = (directory: string): Record<string, string> => {
  const { exports }: Manifest = JSON.parse(readFileSync(path.join(directory, "package.json"), "utf8"))
  const modules = Object.values(exports).filter((file) => file.endsWith(".ts"))
  return Object.fromEntries(
    modules
      .map((file) => [file.slice("./src/".length, -".ts".length), path.join(directory, file)] as const)
      .filter(([name]) => name !== barrel)
  )
}

/** Which group a module belongs to, once all are known. */
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
          // A bundler keeps what a file may load later as soon as it keeps anything of the file.
          groupOf.set(id, module.dynamicallyImportedIds.length === 0 ? group : "")
          module.importedIds.forEach(add)
        }
        for (const root of roots.length === 0 ? others : roots) {
          const id = path.join(directory, "src", `${root}.ts`)
          // A module that was renamed would be in the start of each bundle.
          if (this.getModuleInfo(id) === null) throw new Error(`The group ${group} of ${name} names no module: ${root}`)
          add(id)
        }
      }
    }
  }
  return { plugin, groupOf }
}

/** The sources are published beside their map, which need not hold them once more. */
const withoutContents = (file: string): void => {
  const { sourcesContent: _, ...map } = JSON.parse(readFileSync(file, "utf8"))
  writeFileSync(file, JSON.stringify(map))
}

/** Links a package's sources into its `dist/linked`, and says of what each file is made. */
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
