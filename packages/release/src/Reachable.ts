/** Which files of a package its users can get to: from what it exports and runs, by imports, types, source maps and their sources. */
import { existsSync, globSync, readFileSync, rmSync, statSync } from "node:fs"
import * as path from "node:path"
import { parseSync, Visitor } from "oxc-parser"
import type { Manifest, Target } from "./Workspace.ts"

/** Read by people and by the registry, and imported by no module. */
const documents = /^(?:package\.json|README\.md|CHANGELOG\.md|AGENTS\.md|LICENSE|NOTICE)$/i

const filesOf = (target: Target): ReadonlyArray<string> => {
  if (typeof target === "string") return [target]
  return target === null ? [] : Object.values(target).flatMap(filesOf)
}

const isFile = (file: string): boolean => existsSync(file) && statSync(file).isFile()

/** The declarations that TypeScript takes for a module. */
const declarations = (file: string): string => file.replace(/\.(?:d\.)?([cm]?)[jt]s$/, ".d.$1ts")

/** What a module imports: when it is loaded, and later by `import()` or for its types. */
export const importsOf = (file: string, text: string) => {
  const { module, program } = parseSync(file, text)
  const whenLoaded = [
    ...module.staticImports.map(({ moduleRequest }) => moduleRequest.value),
    ...module.staticExports.flatMap(({ entries }) => entries.flatMap((entry) => entry.moduleRequest?.value ?? []))
  ]
  const later: Array<string> = []
  new Visitor({
    ImportExpression: ({ source }) => {
      if (source.type === "Literal" && typeof source.value === "string") later.push(source.value)
      // Minifiers write strings as templates.
      if (source.type === "TemplateLiteral" && source.expressions.length === 0) {
        later.push(source.quasis[0]?.value.cooked ?? "")
      }
    },
    TSImportType: ({ source }) => {
      later.push(source.value)
    }
  }).visit(program)
  return { whenLoaded, later }
}

interface SourceMap {
  readonly sources: ReadonlyArray<string>
  readonly sourcesContent?: ReadonlyArray<string | null>
}

/** What a file leads to, as paths; those that must exist, and do not, are found by `reach`. */
const next = (file: string): ReadonlyArray<string> => {
  const beside = (other: string) => path.join(path.dirname(file), other)
  if (file.endsWith(".map")) {
    const { sources, sourcesContent }: SourceMap = JSON.parse(readFileSync(file, "utf8"))
    return sources.filter((_, index) => typeof sourcesContent?.[index] !== "string").map(beside)
  }
  if (!/\.[cm]?[jt]s$/.test(file)) return []
  // Sources are there to be read: what they import is elsewhere, compiled.
  if (!/\.(?:[cm]?js|d\.[cm]?ts)$/.test(file)) return []
  const text = readFileSync(file, "utf8")
  const map = /^\/\/# sourceMappingURL=(\S+)\s*$/m.exec(text.slice(-500))?.[1]
  const isDeclaration = declarations(file) === file
  const { later, whenLoaded } = importsOf(file, text)
  const modules = [...whenLoaded, ...later]
    .filter((specifier) => /^\.\.?\//.test(specifier))
    .map((specifier) => (isDeclaration ? declarations(beside(specifier)) : beside(specifier)))
  return map === undefined || map.startsWith("data:") ? modules : [...modules, beside(map)]
}

export interface Reach {
  /** Paths from the folder of the package. */
  readonly reached: ReadonlySet<string>
  /** Files of the package that lead nowhere. */
  readonly unreachable: ReadonlyArray<string>
  /** What a reached file names and the package lacks: `file -> missing`. */
  readonly missing: ReadonlyArray<string>
}

/** Follows a package as it is published, from its manifest on. */
export const reach = (directory: string, manifest: Pick<Manifest, "bin" | "exports">): Reach => {
  const reached = new Set<string>()
  const missing: Array<string> = []
  const visit = (file: string, from: string): void => {
    const name = path.relative(directory, file)
    if (reached.has(name)) return
    if (!isFile(file)) return void missing.push(`${from} -> ${name}`)
    reached.add(name)
    for (const other of next(file)) visit(other, name)
  }
  const entries = [...Object.values(manifest.exports ?? {}), ...Object.values(manifest.bin ?? {})].flatMap(filesOf)
  for (const entry of entries) {
    const file = path.join(directory, entry)
    visit(file, "package.json")
    if (isFile(declarations(file))) visit(declarations(file), "package.json")
  }
  const files = globSync("**/*", { cwd: directory }).filter((name) => isFile(path.join(directory, name)))
  return {
    reached,
    missing,
    unreachable: files.filter((name) => !reached.has(name) && !documents.test(name)).toSorted()
  }
}

/** Takes away what cannot be reached, and says how many files that were. */
export const prune = (directory: string, manifest: Pick<Manifest, "bin" | "exports">): number => {
  const { unreachable } = reach(directory, manifest)
  for (const name of unreachable) rmSync(path.join(directory, name))
  return unreachable.length
}
