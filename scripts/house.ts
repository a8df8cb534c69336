/**
 * The rules of the house that a program can check; part of `npm run lint`.
 *
 * Owns: one-way rooms, no circles of modules, tests in the room of their module, listed exports that exist, docstrings
 * of public values, one meaning per name, no more sentences that read like a translation than before, short
 * documents, no counting of scheduler turns, no tests of time, no lists of methods, no functions assigned to properties. Style, types and
 * sizes are for oxlint, oxfmt and tsc.
 * `house.json` holds the findings that are still allowed, per file and rule. The list may only shrink:
 * `node scripts/house.ts --tighten` writes the smaller counts.
 */
import { existsSync, globSync, readFileSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { inDocument, inModule, lengths } from "./house/language.ts"
import { docstrings, exportsOf, type Manifest } from "./house/manifest.ts"
import { type Finding, type Module, parse, type Rule } from "./house/Module.ts"
import { homonyms, meanings } from "./house/names.ts"
import { assigned, methods, time, turns } from "./house/patterns.ts"
import { mirrored, oneWay } from "./house/rooms.ts"

const root = resolve(import.meta.dirname, "..")

/** How many findings are still allowed, by file and rule. */
export type Allowed = Readonly<Record<string, Readonly<Partial<Record<Rule, number>>>>>

/** The counts of findings, by file and rule. */
export const count = (findings: ReadonlyArray<Finding>): Allowed => {
  const counts: Record<string, Partial<Record<Rule, number>>> = {}
  for (const { file, rule } of findings.toSorted((a, b) => (a.file < b.file ? -1 : 1))) {
    const rules = (counts[file] ??= {})
    rules[rule] = (rules[rule] ?? 0) + 1
  }
  return counts
}

/** The findings of each file and rule that has more than are allowed. */
export const beyond = (findings: ReadonlyArray<Finding>, allowed: Allowed): ReadonlyArray<Finding> => {
  const counts = count(findings)
  return findings.filter(({ file, rule }) => (counts[file]?.[rule] ?? 0) > (allowed[file]?.[rule] ?? 0))
}

/** The files that have fewer findings than the list allows. */
export const loose = (findings: ReadonlyArray<Finding>, allowed: Allowed): ReadonlyArray<string> => {
  const counts = count(findings)
  return Object.entries(allowed).flatMap(([file, rules]) => {
    const now: Readonly<Record<string, number>> = counts[file] ?? {}
    return Object.entries(rules).some(([rule, limit]) => (now[rule] ?? 0) < limit) ? [file] : []
  })
}

const read = (file: string): Module => parse(file, readFileSync(join(root, file), "utf8"))
const modulesIn = (folder: string) => globSync(`${folder}/**/*.ts`, { cwd: root }).toSorted().map(read)

const lengthOf = (file: string): ReadonlyArray<Finding> => lengths(file, readFileSync(join(root, file), "utf8"))

interface Package {
  readonly directory: string
  readonly file: string
  readonly manifest: Manifest
  readonly sources: ReadonlyArray<Module>
  readonly tests: ReadonlyArray<Module>
}

const readPackage = (directory: string): Package => {
  const file = join(directory, "package.json")
  return {
    directory,
    file,
    manifest: JSON.parse(readFileSync(join(root, file), "utf8")),
    sources: modulesIn(`${directory}/src`),
    tests: modulesIn(`${directory}/test`)
  }
}

const ofPackage = ({ directory, file, manifest, sources, tests }: Package): ReadonlyArray<Finding> => [
  ...oneWay(sources),
  ...mirrored(sources, tests),
  ...exportsOf(file, manifest, (path) => existsSync(join(root, path))),
  ...(manifest.private === true ? [] : lengthOf(join(directory, "README.md"))),
  ...docstrings(directory, manifest, sources),
  ...sources.flatMap(methods),
  ...sources.flatMap(assigned),
  ...tests.flatMap(time),
  ...[...sources, ...tests].flatMap(turns)
]

/** One finding for each sentence of a package, or of the documents at the root, that reads like a translation. */
const grammar = (file: string, count: number): ReadonlyArray<Finding> =>
  Array.from({ length: count }, () => ({
    rule: "grammar",
    file,
    line: 1,
    text: `${count} phrases read like a translation, more than scripts/house.json allows; scripts/house/language.ts lists the patterns`
  }))

const documentsBelow = (directory: string): number =>
  globSync(directory === "." ? ["*.md", ".changeset/*.md"] : ["{README,AGENTS}.md", "{docs,pages}/**/*.md"], {
    cwd: join(root, directory)
  }).reduce((sum, file) => sum + inDocument(readFileSync(join(root, directory, file), "utf8")), 0)

const grammarOf = ({ directory, sources, tests }: Package): ReadonlyArray<Finding> =>
  grammar(
    directory,
    [...sources, ...tests].reduce((sum, module) => sum + inModule(module), 0) + documentsBelow(directory)
  )

const main = (tighten: boolean): void => {
  const list = join(root, "scripts/house.json")
  const packages = globSync("packages/*", { cwd: root }).toSorted().map(readPackage)
  const published = packages.filter(({ manifest }) => manifest.private !== true)
  const findings = [
    ...packages.flatMap(ofPackage),
    ...lengthOf("ARCHITECTURE.md"),
    ...meanings(
      published.flatMap(({ sources }) => sources),
      homonyms
    ),
    ...packages.flatMap(grammarOf),
    ...grammar(".", documentsBelow("."))
  ]
  const allowed: Allowed = JSON.parse(readFileSync(list, "utf8"))
  const broken = beyond(findings, allowed)
  for (const line of new Set(broken.map(({ file, line, rule, text }) => `${file}:${line} ${rule}: ${text}`)))
    console.log(line)
  if (broken.length > 0) process.exitCode = 1
  else if (tighten) writeFileSync(list, `${JSON.stringify(count(findings), null, 2)}\n`)
  else if (loose(findings, allowed).length > 0) {
    console.log(
      "scripts/house.json allows more than there is; `node scripts/house.ts --tighten` writes the smaller list"
    )
  }
  console.log(
    `house: ${broken.length} findings, ${findings.length - broken.length} still allowed by scripts/house.json`
  )
}

if (import.meta.main) main(process.argv.includes("--tighten"))
