/**
 * Finds the files of a package that its users can reach: from its exports and commands through imports, types, source maps and their
 * sources.
 */
import { existsSync, globSync, readFileSync, rmSync, statSync } from "node:fs"
import * as path from "node:path"
import { type Expression, parseSync, Visitor } from "oxc-parser"
import type { Manifest, Target } from "./Workspace.ts"

/** Files that people and registries read, and that no module imports. */
const documents = /^(?:package\.json|README\.md|CHANGELOG\.md|AGENTS\.md|LICENSE|NOTICE)$/i

const filesOf = (target: Target): ReadonlyArray<string> => {
  if (typeof target === "string") return [target]
  return target === null ? [] : Object.values(target).flatMap(filesOf)
}

const isFile = (file: string): boolean => existsSync(file) && statSync(file).isFile()

/** Returns the path of a module's declarations. */
const declarations = (file: string): string => file.replace(/\.(?:d\.)?([cm]?)[jt]s$/, ".d.$1ts")

/** Returns the imports of a module: those loaded with it, and those loaded later with `import()` or only for their types. */
export const importsOf = (file: string, text: string) => {
  const { module, program } = parseSync(file, text)
  const whenLoaded = [
    ...module.staticImports.map(({ moduleRequest }) => moduleRequest.value),
    ...module.staticExports.flatMap(({ entries }) => entries.flatMap((entry) => entry.moduleRequest?.value ?? []))
  ]
  const later: Array<string> = []
  const name = (source: Expression): void => {
    if (source.type === "Literal" && typeof source.value === "string") later.push(source.value)
    // Minifiers write strings as templates.
    if (source.type === "TemplateLiteral" && source.expressions.length === 0) {
      later.push(source.quasis[0]?.value.cooked ?? "")
    }
  }
  new Visitor({
    ImportExpression: ({ source }) => name(source),
    // A file that the module reads: `new URL("./file", import.meta.url)`.
    NewExpression: ({ arguments: [first, second], callee }) => {
      const isBeside = second?.type === "MemberExpression" && second.object.type === "MetaProperty"
      if (isBeside && callee.type === "Identifier" && callee.name === "URL" && first?.type !== "SpreadElement") {
        if (first !== undefined) name(first)
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

/** Returns the paths that a file refers to. `reach` reports the missing ones. */
const next = (file: string): ReadonlyArray<string> => {
  const beside = (other: string) => path.join(path.dirname(file), other)
  if (file.endsWith(".map")) {
    const { sources, sourcesContent }: SourceMap = JSON.parse(readFileSync(file, "utf8"))
    return sources.filter((_, index) => typeof sourcesContent?.[index] !== "string").map(beside)
  }
  if (!/\.[cm]?[jt]s$/.test(file)) return []
  // Sources are only read by people. The files that they import are published in compiled form.
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
  /** Reachable files, relative to the package's folder. */
  readonly reached: ReadonlySet<string>
  /** Files of the package that nothing refers to. */
  readonly unreachable: ReadonlyArray<string>
  /** References to missing files, as `file -> missing`. */
  readonly missing: ReadonlyArray<string>
}

/** Finds the reachable files of a package, starting from its manifest. */
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

/** Removes unreachable files and returns their number. */
export const prune = (directory: string, manifest: Pick<Manifest, "bin" | "exports">): number => {
  const { unreachable } = reach(directory, manifest)
  for (const name of unreachable) rmSync(path.join(directory, name))
  return unreachable.length
}
