/**
 * The TypeScript blocks of the site's pages and of the packages' AGENTS.md.
 *
 * ```` ```ts name.ts [Tab] ```` is a file of its page, which other blocks of the page may import as `./name.ts`. Its kind depends on its
 * content. `compiled` after the name marks code that needs something a test does not have, such as a database, and is only compiled. A name
 * with a folder is a file of the examples, with which `docs.test.ts` compares the block.
 */
import { globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { basename, dirname, join, resolve } from "node:path"

export const root = resolve(import.meta.dirname, "../../../..")

/**
 * `compiled`: not run. `test`: run by Vitest. `stdio` and `http`: a server that a client opens. `program`: run, and its output compared
 * with the following output block. `module`: imported, with its output in comments, `// => text`.
 */
export type Kind = "compiled" | "test" | "stdio" | "http" | "program" | "module"

export interface Block {
  /** The document and the line of the block. */
  readonly place: string
  /** Its path in the folder that holds all blocks. */
  readonly file: string
  readonly kind: Kind
  readonly code: string
  readonly output: string | undefined
}

const documents = ["packages/docs/pages/*.md", "packages/*/AGENTS.md"]
  .flatMap((pattern) => globSync(pattern, { cwd: root }))
  .toSorted()

const kindOf = (name: string, info: string, code: string, output: string | undefined): Kind => {
  if (/\bcompiled\b/.test(info)) return "compiled"
  if (name.endsWith(".test.ts")) return "test"
  if (output !== undefined) return "program"
  if (/\brunStdio\(|\.stdio\(\)|^void serveStdio\(|new StdioServerTransport\(/m.test(code)) return "stdio"
  return /\bPORT\b/.test(code) ? "http" : "module"
}

const folderOf = (document: string): string =>
  document.endsWith("AGENTS.md") ? `${basename(dirname(document))}-agents` : basename(document, ".md")

const blocksOf = (document: string): ReadonlyArray<Block> => {
  const text = readFileSync(join(root, document), "utf8")
  const found = text.matchAll(/^```ts(?: (\S+\.ts))?( [^\n]*)?\n([^]*?)^```$\n(?:\n```text output\n([^]*?)^```$)?/gm)
  const own = [...found].filter(([, name = ""]) => !name.includes("/"))
  return own.map(({ 0: all, 1: given, 2: info = "", 3: code = "", 4: output, index }) => {
    const line = text.slice(0, index).split("\n").length
    const name = given ?? `block-${line}.ts`
    if (all === "") throw new Error(`${document}:${line} is an empty block`)
    return {
      place: `${document}:${line}`,
      file: join(folderOf(document), name),
      kind: kindOf(name, info, code, output),
      code,
      output
    }
  })
}

export const blocks: ReadonlyArray<Block> = documents.flatMap(blocksOf)

/**
 * Writes all blocks below `directory`, inside the package of examples, where they resolve the packages a user would install.
 */
export const write = (directory: string): void => {
  for (const { code, file } of blocks) {
    mkdirSync(dirname(join(directory, file)), { recursive: true })
    writeFileSync(join(directory, file), code)
  }
}
