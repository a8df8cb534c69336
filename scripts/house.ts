/**
 * The rules of the house that a program can check; part of `npm run lint`.
 *
 * Owns: one-way rooms, no circles of modules, few loose modules, tests in the room of their module, listed exports that exist, docstrings
 * of public values, banned names, plain words and short sentences in comments, documents and titles of tests, short documents, no counting of
 * scheduler turns, no tests of time, no lists of methods. Style, types and sizes are for oxlint, oxfmt and tsc.
 * `house.json` holds the findings that are still allowed, per file and rule. The list may only shrink:
 * `node scripts/house.ts --tighten` writes the smaller counts.
 */
import { existsSync, globSync, readFileSync, writeFileSync } from "node:fs"
import { basename, dirname, join, relative, resolve } from "node:path"
import { parseSync, Visitor } from "oxc-parser"
import type { Argument, Expression } from "oxc-parser"

const root = resolve(import.meta.dirname, "..")

export type Rule =
  | "rooms"
  | "modules"
  | "loose"
  | "mirror"
  | "exports"
  | "docstrings"
  | "names"
  | "comments"
  | "titles"
  | "documents"
  | "lengths"
  | "sentences"
  | "turns"
  | "time"
  | "methods"

/** A rule that is broken: the file from the root of the workspace, the line, and what to do. */
export interface Finding {
  readonly rule: Rule
  readonly file: string
  readonly line: number
  readonly text: string
}

/** What the rules look at in one source file. */
export interface Module {
  readonly file: string
  readonly text: string
  /** The modules of the same package that it imports, types included. */
  readonly imports: ReadonlyArray<string>
  readonly comments: ReadonlyArray<{ readonly value: string; readonly start: number }>
  readonly exported: ReadonlyArray<{ readonly name: string; readonly start: number }>
  /** Of tests and of groups of tests. */
  readonly titles: ReadonlyArray<Title>
  /** The values that are declared and exported without a docstring. */
  readonly undocumented: ReadonlyArray<{ readonly name: string; readonly start: number }>
  /** The arrays that hold two or more names of methods. */
  readonly methodLists: ReadonlyArray<{ readonly value: string; readonly start: number }>
}

/** Names such as `tools/call`. */
const methodName =
  /^(?:completion|elicitation|logging|notifications|prompts|resources|roots|sampling|server|subscriptions|tools)\/[a-z]/

interface Title {
  readonly value: string
  readonly start: number
  readonly isGroup: boolean
}

const lineOf = (text: string, offset: number): number => text.slice(0, offset).split("\n").length

/** `it` of `it.effect.each(rows)`. */
const rootName = (callee: Expression): string => {
  if (callee.type === "Identifier") return callee.name
  if (callee.type === "MemberExpression") return rootName(callee.object)
  return callee.type === "CallExpression" ? rootName(callee.callee) : ""
}

const textOf = (title: Argument | undefined): string | undefined => {
  if (title?.type === "Literal" && typeof title.value === "string") return title.value
  return title?.type === "TemplateLiteral" ? title.quasis.map(({ value }) => value.raw).join(" ") : undefined
}

/** The exported values without a docstring; that of an overload is for all of them. */
const undocumentedOf = ({ comments, program }: ReturnType<typeof parseSync>, text: string): Module["undocumented"] => {
  const found = new Map<string, number>()
  const documented = new Set<string>()
  for (const node of program.body) {
    if (node.type !== "ExportNamedDeclaration" || node.declaration === null) continue
    const { declaration, start } = node
    const names =
      declaration.type === "VariableDeclaration"
        ? declaration.declarations.flatMap(({ id }) => (id.type === "Identifier" ? [id.name] : []))
        : declaration.type === "FunctionDeclaration" ||
            declaration.type === "TSDeclareFunction" ||
            declaration.type === "ClassDeclaration"
          ? [declaration.id?.name ?? "default"]
          : []
    const hasDocs = comments.some(
      ({ end, type, value }) =>
        type === "Block" && value.startsWith("*") && end <= start && /^\s*(?:\/\/.*\s*)*$/.test(text.slice(end, start))
    )
    for (const name of names) {
      if (hasDocs) documented.add(name)
      else if (!found.has(name)) found.set(name, start)
    }
  }
  return [...found].flatMap(([name, start]) => (documented.has(name) ? [] : [{ name, start }]))
}

/** A module from its text; `file` is its path from the root of the workspace. */
export const parse = (file: string, text: string): Module => {
  const parsed = parseSync(file, text)
  const { comments, module, program } = parsed
  const titles: Array<Title> = []
  const methodLists: Array<{ readonly value: string; readonly start: number }> = []
  new Visitor({
    ArrayExpression: ({ elements, start }) => {
      const methods = elements.flatMap((element) =>
        element?.type === "Literal" && typeof element.value === "string" && methodName.test(element.value)
          ? [element.value]
          : []
      )
      if (methods.length > 1) methodLists.push({ value: methods.join(", "), start })
    },
    CallExpression: ({ arguments: [title], callee, start }) => {
      const value = textOf(title)
      const name = rootName(callee)
      if (value === undefined || !["it", "test", "describe"].includes(name)) return
      titles.push({ value, start, isGroup: name === "describe" })
    }
  }).visit(program)
  const specifiers = [
    ...module.staticImports.map(({ moduleRequest }) => moduleRequest.value),
    ...module.staticExports.flatMap(({ entries }) => entries.flatMap((entry) => entry.moduleRequest?.value ?? [])),
    ...module.dynamicImports.map(({ moduleRequest }) => text.slice(moduleRequest.start + 1, moduleRequest.end - 1))
  ]
  const local = specifiers.filter((name) => name.startsWith(".") && name.endsWith(".ts"))
  const exported = module.staticExports.flatMap(({ entries, start }) =>
    entries.flatMap(({ exportName }) =>
      exportName.name === null ? [] : [{ name: exportName.name, start: exportName.start ?? start }]
    )
  )
  return {
    file,
    text,
    titles,
    undocumented: undocumentedOf(parsed, text),
    methodLists,
    comments,
    exported,
    imports: local.map((name) => join(dirname(file), name))
  }
}

/** The room of a module: its folder, or the module itself where it lies loose at the package's root. */
const roomOf = (file: string): string => (dirname(file).endsWith("/src") ? file : dirname(file))

type Arrows = ReadonlyMap<string, ReadonlySet<string>>

const reachable = (arrows: Arrows, start: string): ReadonlySet<string> => {
  const seen = new Set<string>()
  const open = [start]
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    for (const next of arrows.get(node) ?? []) {
      if (seen.has(next)) continue
      seen.add(next)
      open.push(next)
    }
  }
  return seen
}

/** The groups of two or more nodes that reach each other. */
const circles = (arrows: Arrows): ReadonlyArray<ReadonlyArray<string>> => {
  const reach = new Map([...arrows.keys()].map((node) => [node, reachable(arrows, node)]))
  const together = (a: string, b: string) => reach.get(a)?.has(b) === true && reach.get(b)?.has(a) === true
  const groups = [...arrows.keys()].map((node) => [...arrows.keys()].filter((other) => together(node, other)))
  return groups.filter(
    (group, index) => group.length > 0 && groups.findIndex(([first]) => first === group[0]) === index
  )
}

const arrowsOf = (modules: ReadonlyArray<Module>, nodeOf: (file: string) => string): Arrows => {
  const arrows = new Map<string, Set<string>>()
  for (const { file, imports } of modules) {
    const from = nodeOf(file)
    const to = arrows.get(from) ?? new Set()
    arrows.set(from, to)
    for (const target of imports) if (nodeOf(target) !== from) to.add(nodeOf(target))
  }
  return arrows
}

/** Rooms and modules that import each other, in the sources of one package. */
export const oneWay = (modules: ReadonlyArray<Module>): ReadonlyArray<Finding> => {
  const found = (rule: "rooms" | "modules", nodeOf: (file: string) => string) =>
    circles(arrowsOf(modules, nodeOf)).map((circle) => ({
      rule,
      file: circle[0] ?? "",
      line: 1,
      text: `These import each other; imports run one way: ${circle.map((name) => relative("packages", name)).join(", ")}`
    }))
  return [...found("rooms", roomOf), ...found("modules", (file) => file)]
}

/** The most modules at the root of a published package, beside its index. */
const mostLoose = 5

export const looseModules = (modules: ReadonlyArray<Module>): ReadonlyArray<Finding> => {
  const found = modules.map(({ file }) => file).filter((file) => dirname(file).endsWith("/src"))
  const [first, ...others] = found.filter((file) => !file.endsWith("/index.ts"))
  if (first === undefined || others.length < mostLoose) return []
  const text = `${others.length + 1} modules lie in no room, at most ${mostLoose} may; make a folder of those that answer one question`
  return [{ rule: "loose", file: first, line: 1, text }]
}

/** A test that is named after a module lies in its room; tests of time and memory have a folder of their own. */
export const mirrored = (
  sources: ReadonlyArray<Module>,
  tests: ReadonlyArray<Pick<Module, "file">>
): ReadonlyArray<Finding> =>
  tests.flatMap(({ file }) => {
    const [, root = "", folder = "", name = ""] =
      /^(packages\/[^/]+\/)test\/(.*?)([A-Z]\w*)\.[\w.]*test\.ts$/.exec(file) ?? []
    const rooms = sources.map((source) => source.file).filter((source) => basename(source) === `${name}.ts`)
    if (rooms.length === 0 || folder === "perf/" || rooms.includes(`${root}src/${folder}${name}.ts`)) return []
    return [
      {
        rule: "mirror",
        file,
        line: 1,
        text: `The test of ${rooms.join(" or ")} lies in another room; move or rename it`
      }
    ]
  })

/** Names that meant several things; the glossary of ARCHITECTURE.md has the words to use. */
const banned = new Set([
  "Asked",
  "Asker",
  "Asking",
  "One",
  "Now",
  "Work",
  "Refusal",
  "Direct",
  "Listen",
  "Healing",
  "Burst"
])

export const names = ({ exported, file, text }: Module): ReadonlyArray<Finding> =>
  exported
    .filter(({ name }) => banned.has(name))
    .map(({ name, start }) => ({
      rule: "names",
      file,
      line: lineOf(text, start),
      text: `"${name}" is exported; the name is banned since it meant several things (see the glossary in ARCHITECTURE.md)`
    }))

/** Words that stand for a program as if it were a person, and phrases that have to be decoded. */
const riddles =
  /\b(?:who|whoever|whom|nobody|somebody|someone|something|anybody|anyone|everybody|everyone)\b|\bTold of\b|\bof ours\b|\bnothing of it\b|\bas it came\b|\bin words\b|\bcomes to\b|\bgoes on\b/i

const plain =
  (rule: "comments" | "titles") =>
  (module: Module): ReadonlyArray<Finding> =>
    module[rule].flatMap(({ start, value }) => {
      const found = riddles.exec(value)
      if (found === null) return []
      const line = lineOf(module.text, start + (rule === "comments" ? found.index : 0))
      const place = rule === "comments" ? "a comment" : "a title"
      return [
        {
          rule,
          file: module.file,
          line,
          text: `"${found[0]}" in ${place}; name the part of the code or of the specification`
        }
      ]
    })

export const comments = plain("comments")
/** How the title of a test begins: like a sentence, with a value, or with a name of code, a file or a command. */
const beginning =
  /^(?:$|[\sA-Z0-9"'`$%([{<]|(?:[a-z]+[A-Z]\w*|[\w-]+[./_][\w./-]*|--?\w[\w-]*|initialize|stdin|stdout|stderr|ping|npm|npx|node:)(?=[\s,:]|$))/

/** The title of a test is read alone where it fails: it names its subject, though the group around it does, too. */
const alone = ({ file, text, titles }: Module): ReadonlyArray<Finding> =>
  titles
    .filter(({ isGroup, value }) => !isGroup && !beginning.test(value.replace(/^\\/, "")))
    .map(({ start, value }) => ({
      rule: "titles",
      file,
      line: lineOf(text, start),
      text: `"${value.slice(0, 40)}" begins in the middle of a sentence; begin with its subject`
    }))

const plainTitles = plain("titles")

export const titles = (module: Module): ReadonlyArray<Finding> => [...plainTitles(module), ...alone(module)]

/** What a document says outside of code, with its lines. */
const prose = (text: string): string =>
  text
    .replace(/^( *)(`{3,})[\s\S]*?^\1\2$/gm, (block) => block.replace(/[^\n]/g, " "))
    .replace(/`[^`\n]*`/g, (code) => " ".repeat(code.length))

export const documents = (file: string, text: string): ReadonlyArray<Finding> =>
  [...prose(text).matchAll(new RegExp(riddles, "gi"))].map(({ 0: word, index }) => ({
    rule: "documents",
    file,
    line: lineOf(text, index),
    text: `"${word}" in a document; name the part of the code or of the specification`
  }))

/** The least and most lines of documents by their name, and what they hold. */
const lineLimits: Readonly<Record<string, readonly [least: number, most: number, content: string]>> = {
  "README.md": [
    10,
    60,
    "what the package is, one example, main exports and links; the rest belongs on packages/docs/pages"
  ],
  "ARCHITECTURE.md": [
    150,
    250,
    "what a reader needs that changes the code first; the rest belongs in headers of modules"
  ]
}

export const lengths = (file: string, text: string): ReadonlyArray<Finding> => {
  const limits = lineLimits[basename(file)]
  if (limits === undefined) return []
  const [least, most, content] = limits
  const count = text.trimEnd().split("\n").length
  if (count >= least && count <= most) return []
  return [{ rule: "lengths", file, line: 1, text: `${count} lines; ${least} to ${most} were expected: ${content}` }]
}

/** The most words of a sentence; a colon and a semicolon end one, and code is one word. */
const mostWords = 25

export const sentences = ({ comments, file, text, titles }: Module): ReadonlyArray<Finding> =>
  [...comments, ...titles].flatMap(({ start, value }) =>
    value
      .replace(/^ *\* *```[\s\S]*?```/gm, "")
      .replace(/^\s*\*+ ?/gm, "")
      // Paragraphs, rows of lists and tables, drawings.
      .split(/\n\s*(?=\n|[-|] )|\n.*[\u2500-\u257f\u25ba\u25c4].*/)
      .flatMap((paragraph) => paragraph.replace(/`[^`]*`/g, "code").split(/[.:;!?]\s+|\s@\w+/))
      .flatMap((sentence) => {
        const words = sentence.split(/\s+/).filter((word) => /\w/.test(word))
        if (words.length <= mostWords) return []
        const begin = words.slice(0, 4).join(" ")
        const long = `A sentence of ${words.length} words ("${begin} ..."); at most ${mostWords}: say it in two`
        return [{ rule: "sentences" as const, file, line: lineOf(text, start), text: long }]
      })
  )

const turnCounts = /Effect\.(?:repeat|replicateEffect)\(\s*Effect\.yieldNow|yieldNow[^\n]*times:/g

export const turns = ({ file, text }: Module): ReadonlyArray<Finding> =>
  [...text.matchAll(turnCounts)].map(({ index }) => ({
    rule: "turns",
    file,
    line: lineOf(text, index),
    text: "A fixed number of scheduler turns; wait for a latch, a queue, an idle peer or `quiesce` of @effect-mcp/testing"
  }))

const clocks = /performance\.now|memoryUsage/g

/** Time and memory in tests: a busy machine fails them. Files beside tests may measure for those of `test/perf`. */
export const time = ({ file, text }: Module): ReadonlyArray<Finding> =>
  !file.endsWith(".test.ts") || file.includes("/test/perf/")
    ? []
    : [...text.matchAll(clocks)].map(({ 0: clock, index }) => ({
        rule: "time",
        file,
        line: lineOf(text, index),
        text: `${clock} in a test; assert steps or an order, or move the test to test/perf`
      }))

/** Methods that have a fact in common are the column of a table, which is typed by all methods. */
const tableOfMethods = "packages/protocol/src/model/MethodInfo.ts"

export const methods = ({ file, methodLists, text }: Module): ReadonlyArray<Finding> =>
  // Pages of the specification have names of the same form.
  file === tableOfMethods || file.startsWith("packages/spec/")
    ? []
    : methodLists.map(({ start, value }) => ({
        rule: "methods",
        file,
        line: lineOf(text, start),
        text: `A list of methods (${value}); make it a column of ${tableOfMethods} and derive the list`
      }))

export interface Manifest {
  readonly private?: boolean
  readonly exports?: Readonly<Record<string, string | null>>
  readonly publishConfig?: { readonly exports?: Readonly<Record<string, unknown>> }
}

/** The exports of a published package: each listed, each there, and the same in the published manifest. */
export const exportsOf = (
  file: string,
  manifest: Manifest,
  exists: (path: string) => boolean
): ReadonlyArray<Finding> => {
  if (manifest.private === true) return []
  const published = Object.keys(manifest.publishConfig?.exports ?? {})
  // A program is published as its bundle: there is no module to import.
  const isProgram = published.join() === "./package.json"
  const problem = (name: string, target: string | null): string | undefined => {
    if (name.includes("*")) return "a pattern makes modules public unseen; list each"
    if (target !== null && !exists(join(dirname(file), target))) return `there is no ${target}`
    return isProgram || published.includes(name) ? undefined : "publishConfig.exports does not list it"
  }
  return Object.entries(manifest.exports ?? {}).flatMap(([name, target]) => {
    const text = problem(name, target)
    return text === undefined ? [] : [{ rule: "exports", file, line: 1, text: `exports "${name}": ${text}` }]
  })
}

/** Public values without a docstring; a program has no users of its modules. */
export const docstrings = (
  directory: string,
  { exports, private: isPrivate, publishConfig }: Manifest,
  modules: ReadonlyArray<Module>
): ReadonlyArray<Finding> => {
  if (isPrivate === true || Object.keys(publishConfig?.exports ?? {}).join() === "./package.json") return []
  const isPublic = new Set(
    Object.entries(exports ?? {}).flatMap(([name, target]) =>
      target === null || name.startsWith("./internal/") ? [] : [join(directory, target)]
    )
  )
  return modules
    .filter(({ file }) => isPublic.has(file))
    .flatMap(({ file, text, undocumented }) =>
      undocumented.map(({ name, start }) => ({
        rule: "docstrings" as const,
        file,
        line: lineOf(text, start),
        text: `${name} is public and has no docstring; say shape, units, default and errors`
      }))
    )
}

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

const ofPackage = (directory: string): ReadonlyArray<Finding> => {
  const sources = modulesIn(`${directory}/src`)
  const tests = modulesIn(`${directory}/test`)
  const file = join(directory, "package.json")
  const manifest: Manifest = JSON.parse(readFileSync(join(root, file), "utf8"))
  return [
    ...oneWay(sources),
    ...(manifest.private === true ? [] : looseModules(sources)),
    ...mirrored(sources, tests),
    ...exportsOf(file, manifest, (path) => existsSync(join(root, path))),
    ...(manifest.private === true ? [] : lengthOf(join(directory, "README.md"))),
    ...docstrings(directory, manifest, sources),
    ...sources.flatMap(names),
    ...sources.flatMap(methods),
    ...tests.flatMap(time),
    ...[...sources, ...tests].flatMap((module) => [
      ...comments(module),
      ...titles(module),
      ...sentences(module),
      ...turns(module)
    ])
  ]
}

const main = (tighten: boolean): void => {
  const list = join(root, "scripts/house.json")
  const written = ["*.md", ".changeset/*.md", "packages/*/{README,AGENTS}.md", "packages/*/{docs,pages}/**/*.md"]
  const findings = [
    ...globSync("packages/*", { cwd: root }).toSorted().flatMap(ofPackage),
    ...lengthOf("ARCHITECTURE.md"),
    ...globSync(written, { cwd: root })
      .toSorted()
      .flatMap((file) => documents(file, readFileSync(join(root, file), "utf8")))
  ]
  const allowed: Allowed = JSON.parse(readFileSync(list, "utf8"))
  const broken = beyond(findings, allowed)
  for (const { file, line, rule, text } of broken) console.log(`${file}:${line} ${rule}: ${text}`)
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
