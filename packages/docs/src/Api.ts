/** The API reference: a page for each public module, from the declarations that `tsc -b` writes, with their docstrings. */
import { existsSync, readFileSync } from "node:fs"
import * as path from "node:path"
import { parseSync } from "oxc-parser"
import type { Comment, Directive, Statement } from "oxc-parser"
import { type Package, published, root } from "./Repository.ts"

export interface ApiPage {
  /** Its path on the site, without an ending: `api/server/McpServer`. */
  readonly name: string
  readonly title: string
  readonly text: string
}

/** The text of a docstring without its marks. */
const plain = (comment: string): string =>
  comment
    .replace(/^\*/, "")
    .replaceAll(/^[ \t]*\* ?/gm, "")
    .trim()

/** A docstring as Markdown: its tags become labels, and what looks like HTML stays text. */
const described = (comment: string): string => {
  const inline = plain(comment).replaceAll(/\{@link (\S+?)\}/g, "`$1`")
  const tagged = inline.replaceAll(/^@example[ \t]*(.*)$/gm, (_, title: string) => `**Example** ${title}\n`)
  let fence = false
  return tagged
    .split("\n")
    .map((line) => {
      if (line.startsWith("```")) fence = !fence
      // Vue would take angle brackets and double braces in prose for its own.
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

const commentBefore = (comments: ReadonlyArray<Comment>, text: string, start: number): Comment | undefined =>
  comments.findLast(
    ({ end, type, value }) =>
      type === "Block" && value.startsWith("*") && end <= start && text.slice(end, start).trim() === ""
  )

/** The module behind an export of another: `export type { A } from "./B.ts"`, by its path. A namespace has a page of its own. */
const sourceOf = (file: string, statement: Statement | Directive): string | undefined => {
  if (statement.type !== "ExportNamedDeclaration" && statement.type !== "ExportAllDeclaration") return undefined
  if (statement.type === "ExportAllDeclaration" && statement.exported !== null) return undefined
  return statement.source?.value.startsWith(".") === true
    ? path.join(path.dirname(file), statement.source.value.replace(/\.ts$/, ".d.ts"))
    : undefined
}

/** Which names of the other module are exported, by the names they get; undefined where all are. */
const exportedBy = (statement: Statement | Directive): ReadonlyMap<string, string> | undefined => {
  if (statement.type !== "ExportNamedDeclaration") return undefined
  const nameOf = (name: { readonly type: string; readonly name?: string; readonly value?: unknown }): string =>
    name.name ?? String(name.value)
  return new Map(statement.specifiers.map(({ exported, local }) => [nameOf(local), nameOf(exported)]))
}

/** Expanded types of schemas have hundreds of lines: the rest is for editors. */
const longest = 60

const cut = (code: string): string => {
  const lines = code.split("\n")
  return lines.length <= longest
    ? code
    : [...lines.slice(0, longest), `// ... ${lines.length - longest} more lines`].join("\n")
}

/** What it is, its signature, then its examples. */
const entry = (name: string, code: string, comment: string): string => {
  const text = described(comment)
  const [about = ""] = text.split("**Example**", 1)
  return [`## ${name}`, about.trim(), `\`\`\`ts\n${cut(code)}\n\`\`\``, text.slice(about.length)]
    .filter((part) => part !== "")
    .join("\n\n")
}

/** The entries of a module in the order of its declarations; those that it passes on from others, too. */
const entriesOf = (file: string, wanted?: ReadonlyMap<string, string>): ReadonlyArray<string> => {
  const text = readFileSync(file, "utf8")
  const { comments, program } = parseSync(file, text)
  /** The base of a class of Effect, which the compiler writes as a constant of its own. */
  const baseOf = (name: string): string => {
    const statement = program.body.find((node) =>
      text.slice(node.start, node.start + 60).startsWith(`declare const ${name}_base:`)
    )
    const code = statement === undefined ? "" : text.slice(statement.start, statement.end)
    // Of an error the class says it all.
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
    const comment = commentBefore(comments, text, declaration.start)?.value ?? ""
    return declaration.names.flatMap((name) => {
      const shown = wanted === undefined ? name : wanted.get(name)
      return shown === undefined ? [] : [entry(shown, `${baseOf(name)}${code}`, comment)]
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

/** The public modules of the published packages, without `internal`. */
export const read = (): ReadonlyArray<ApiPackage> =>
  published.flatMap((package_) => {
    const modules = package_.exports
      .filter(([subpath]) => subpath !== "./package.json" && !subpath.startsWith("./internal/"))
      .flatMap(([subpath, target]) => moduleOf(package_, subpath, target))
    return modules.length === 0 ? [] : [{ package: package_, modules }]
  })
