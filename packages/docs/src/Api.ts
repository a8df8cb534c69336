/** The API reference: a page for each public module, from the declarations that `tsc -b` writes, with their docstrings. */
import { existsSync, readFileSync } from "node:fs"
import * as path from "node:path"
import { parseSync } from "oxc-parser"
import type { Directive, Statement } from "oxc-parser"
import { commentBefore, optionTable, plain } from "./OptionTable.ts"
import { hosted, type Package, published, root } from "./Repository.ts"

export interface ApiPage {
  /** Path on the site, without an extension: `api/server/McpServer`. */
  readonly name: string
  readonly title: string
  readonly text: string
}

/** Converts a docstring to Markdown. Tags become labels, and text that looks like HTML stays text. */
const described = (comment: string): string => {
  const inline = plain(comment).replaceAll(/\{@link (\S+?)\}/g, "`$1`")
  const tagged = inline
    .replaceAll(/^@see (https\S+)[ \t]*(.*)$/gm, (_, url: string, title: string) => `See [${title || url}](${url}).`)
    .replaceAll(/^@example[ \t]*(.*)$/gm, (_, title: string) => `**Example** ${title}\n`)
  let fence = false
  return tagged
    .split("\n")
    .map((line) => {
      if (line.startsWith("```")) fence = !fence
      // Vue would interpret angle brackets and double braces in prose.
      return fence || line.startsWith("```")
        ? line
        : line.replaceAll(/(`[^`]*`)|[<{]/g, (mark, code) => code ?? `\\${mark}`)
    })
    .join("\n")
}

interface Declaration {
  readonly names: ReadonlyArray<string>
  readonly start: number
  readonly end: number
}

const namesOf = (statement: Statement | Directive): ReadonlyArray<string> => {
  if (statement.type !== "ExportNamedDeclaration" || statement.declaration === null) return []
  const { declaration } = statement
  if (declaration.type === "VariableDeclaration") {
    return declaration.declarations.flatMap(({ id }) => (id.type === "Identifier" ? [id.name] : []))
  }
  return "id" in declaration && declaration.id?.type === "Identifier" ? [declaration.id.name] : []
}

/** Returns the module that an export comes from, as in `export type { A } from "./B.ts"`, by its path. A namespace has its own page. */
const sourceOf = (file: string, statement: Statement | Directive): string | undefined => {
  if (statement.type !== "ExportNamedDeclaration" && statement.type !== "ExportAllDeclaration") return undefined
  if (statement.type === "ExportAllDeclaration" && statement.exported !== null) return undefined
  return statement.source?.value.startsWith(".") === true
    ? path.join(path.dirname(file), statement.source.value.replace(/\.ts$/, ".d.ts"))
    : undefined
}

/** Returns the names exported from the other module and their new names, or `undefined` if all are exported. */
const exportedBy = (statement: Statement | Directive): ReadonlyMap<string, string> | undefined => {
  if (statement.type !== "ExportNamedDeclaration") return undefined
  const nameOf = (name: { readonly type: string; readonly name?: string; readonly value?: unknown }): string =>
    name.name ?? String(name.value)
  return new Map(statement.specifiers.map(({ exported, local }) => [nameOf(local), nameOf(exported)]))
}

/** Maximum number of lines of a signature, because expanded schema types have hundreds. */
const longest = 60

const cut = (code: string): string => {
  const lines = code.split("\n")
  return lines.length <= longest
    ? code
    : [...lines.slice(0, longest), `// ... ${lines.length - longest} more lines`].join("\n")
}

/** Returns the source of a file of declarations, relative to the root, and the line that declares a name. */
const placeOf = (file: string, name: string): string => {
  const source = path
    .relative(root, file)
    .replace("/dist/", "/src/")
    .replace(/\.d\.ts$/, ".ts")
  const lines = readFileSync(path.join(root, source), "utf8").split("\n")
  const line = lines.findIndex((text) => new RegExp(`^export (?:\\w+ )+${name}\\b`).test(text)) + 1
  return `Defined in [${source}](${hosted(source)}${line === 0 ? "" : `#L${line}`})`
}

/** Formats the description of a name, its options or its signature, its examples, and where it is defined. */
const entry = (name: string, signature: string, comment: string, place: string): string => {
  const text = described(comment)
  const [about = ""] = text.split("**Example**", 1)
  return [`## ${name}`, about.trim(), signature, text.slice(about.length).trim(), place]
    .filter((part) => part !== "")
    .join("\n\n")
}

/** Returns the entries of a module in the order of its declarations, including re-exports. */
const entriesOf = (file: string, wanted?: ReadonlyMap<string, string>): ReadonlyArray<string> => {
  const text = readFileSync(file, "utf8")
  const { comments, program } = parseSync(file, text)
  /** Returns the base of an Effect class, which the compiler writes as a separate constant. */
  const baseOf = (name: string): string => {
    const statement = program.body.find((node) =>
      text.slice(node.start, node.start + 60).startsWith(`declare const ${name}_base:`)
    )
    const code = statement === undefined ? "" : text.slice(statement.start, statement.end)
    // The class of an error needs no base.
    return code === "" || code.includes("YieldableError") ? "" : `${code}\n`
  }
  return program.body.flatMap((statement): ReadonlyArray<string> => {
    const source = sourceOf(file, statement)
    if (source !== undefined) return wanted === undefined ? entriesOf(source, exportedBy(statement)) : []
    const declaration: Declaration = { names: namesOf(statement), start: statement.start, end: statement.end }
    const code = text
      .slice(declaration.start, declaration.end)
      .replace(/^export declare /, "declare ")
      .replace(/^export /, "")
    const comment = commentBefore({ comments, text }, declaration.start)
    const table = optionTable({ comments, text }, statement, described)
    return declaration.names.flatMap((name) => {
      const shown = wanted === undefined ? name : wanted.get(name)
      const signature = table ?? `\`\`\`ts\n${cut(`${baseOf(name)}${code}`)}\n\`\`\``
      return shown === undefined ? [] : [entry(shown, signature, comment, placeOf(file, name))]
    })
  })
}

const moduleOf = ({ folder, name }: Package, subpath: string, target: string): ReadonlyArray<ApiPage> => {
  const file = path.join(root, "packages", folder, target.replace(/^\.\/src\//, "dist/").replace(/\.ts$/, ".d.ts"))
  if (!existsSync(file))
    throw new Error(`${path.relative(root, file)} is missing: npm run check writes the declarations`)
  const entries = entriesOf(file)
  if (entries.length === 0) return []
  const text = readFileSync(file, "utf8")
  const { comments, program } = parseSync(file, text)
  const [first] = comments
  const head =
    first !== undefined && first.start === 0 && first.end < (program.body[0]?.start ?? 0) ? described(first.value) : ""
  const isIndex = subpath === "."
  const module = isIndex ? name : subpath.replace("./", "")
  const code = `import ${isIndex || module.includes("/") ? "{ ... }" : `* as ${module}`} from "${name}${subpath.slice(1)}"`
  return [
    {
      name: `api/${folder}/${isIndex ? "index" : module}`,
      title: module,
      text: [`# ${module}`, `\`${code}\``, head, ...entries].filter((part) => part !== "").join("\n\n")
    }
  ]
}

export interface ApiPackage {
  readonly package: Package
  readonly modules: ReadonlyArray<ApiPage>
}

/** Returns the public modules of the published packages, without `internal`. */
export const read = (): ReadonlyArray<ApiPackage> =>
  published.flatMap((package_) => {
    const modules = package_.exports
      .filter(([subpath]) => subpath !== "./package.json" && !subpath.startsWith("./internal/"))
      .flatMap(([subpath, target]) => moduleOf(package_, subpath, target))
    return modules.length === 0 ? [] : [{ package: package_, modules }]
  })
