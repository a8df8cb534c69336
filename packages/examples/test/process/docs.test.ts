/** Documents name existing files and exports, and their code is the code of the examples. */
import { assert, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { existsSync, globSync, readFileSync, statSync } from "node:fs"
import { dirname, join, resolve } from "node:path"

const root = resolve(import.meta.dirname, "../../../..")
const examples = join(root, "packages/examples")
const read = (path: string): string => readFileSync(join(root, path), "utf8")

interface Manifest {
  readonly private?: boolean
  readonly exports: Readonly<Record<string, string>>
}
const manifestOf = (directory: string): Manifest => JSON.parse(read(`${directory}/package.json`))
const published = globSync("packages/*", { cwd: root })
  .filter((directory) => manifestOf(directory).private !== true)
  .toSorted()

const documents = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", ...published.map((name) => `${name}/README.md`)]
const pages = globSync("packages/docs/pages/*.md", { cwd: root }).toSorted()

interface Block {
  readonly document: string
  /** The file it shows: in the examples if it starts with `src` or `test`, or else in their `src`. */
  readonly name: string
  readonly code: string
  /** The output of the program, if the document shows it. */
  readonly output: string | undefined
}

const blocksOf = (document: string): ReadonlyArray<Block> => {
  const found = read(document).matchAll(/^```ts ?(\S*)[^\n]*\n([\s\S]*?)^```\n(?:\n```text output\n([\s\S]*?)^```$)?/gm)
  return [...found].map(([, name = "", code = "", output]) => ({ document, name, code, output }))
}
/** Blocks of pages count only if their name has a folder; the others are files of their page (`support/pages.ts`). */
const blocks = [...documents.flatMap(blocksOf), ...pages.flatMap(blocksOf).filter(({ name }) => name.includes("/"))]
const fileOf = ({ name }: Block): string => join(examples, /^(?:src|test)\//.test(name) ? name : join("src", name))

/** The host of the repository. Links in a package's README must also work on npm. */
const hosted = "https://github.com/effect-mcp/effect-mcp/blob/main/"

/**
 * The paths that a document names: targets of links, and words with a slash that end in a file extension or a slash.
 */
const pathsIn = (document: string): ReadonlyArray<string> => {
  const text = read(document)
    .replaceAll(/^```(?:ts|js|dockerfile)[^]*?^```$/gm, "")
    .replaceAll(`](${hosted}`, "](")
    .replaceAll(/https?:\/\/\S+/g, "")
    .replaceAll(/@effect-mcp\/(?=[\w/-]+\.json)/g, "packages/")
  const links = [...text.matchAll(/\]\((?!\/)([^)#\s]+)[^)\s]*\)/g)].map(([, path = ""]) => path)
  const words = [...text.matchAll(/(?<![\w./@-])[\w.@-]+(?:\/[\w.-]+)+\.(?:ts|mjs|json|md)\b/g)].map(([path]) => path)
  const folders = [...text.matchAll(/`([\w.-]+(?:\/[\w.-]+)*\/)`/g)].map(([, path = ""]) => path)
  return [...links, ...words, ...folders]
}

/** Files of a project that `create` generates, and of a skill. */
const created = new Set(["src/server.ts", "references/policy.md"])

/**
 * Paths are relative to the document or the root. ARCHITECTURE.md omits `packages/`, and in its table of rooms `<package>/src/`.
 */
const exists = (document: string, path: string): boolean => {
  const places = [
    dirname(document),
    ".",
    "packages",
    ...published.map((name) => `${name}/src`),
    "packages/server/src/http"
  ]
  return places.some((place) => {
    const file = join(root, place, path)
    return existsSync(file) && (!path.endsWith("/") || statSync(file).isDirectory())
  })
}

describe("Documents", () => {
  it.each([...documents, ...pages])("%s names only paths that exist", (document) => {
    const paths = pathsIn(document).filter((path) => !path.includes("<") && !created.has(path))
    assert.deepStrictEqual(
      paths.filter((path) => !exists(document, path)),
      []
    )
  })

  it("ARCHITECTURE.md names many paths, so the check cannot pass by finding none", () => {
    assert.isAtLeast(new Set(pathsIn("ARCHITECTURE.md")).size, 100)
  })

  it.each(published)("%s/README.md describes its main exports", (directory) => {
    const rows = [...read(`${directory}/README.md`).matchAll(/^\| `(\w+)`\s+\|/gm)].map(([, name = ""]) => name)
    const { exports } = manifestOf(directory)
    const entry = exports["."]
    if (entry === undefined) return
    const index = read(join(directory, entry))
    // A namespace, or one of the names in braces.
    const isExported = (name: string) =>
      new RegExp(`^export (?:\\* as ${name} |\\{[^}]*\\b${name}\\b)`, "m").test(index)
    const missing = rows.filter((name) => exports[`./${name}`] === undefined && !isExported(name))
    assert.isNotEmpty(rows)
    assert.deepStrictEqual(missing, [])
  })

  it.each(published)("%s/README.md links to documentation pages in a way that works on npm", (directory) => {
    const links = [...read(`${directory}/README.md`).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = ""]) => link)
    assert.isTrue(links.some((link) => link.startsWith(`${hosted}packages/docs/pages/`)))
    assert.deepStrictEqual(
      links.filter((link) => !/^https:|^#/.test(link)),
      []
    )
  })

  it("Documents only show TypeScript that compiles as a file in the examples", () => {
    assert.isAtLeast(blocks.length, 30)
    for (const block of blocks) {
      assert.notStrictEqual(block.name, "", `${block.document}: a block of code names no file`)
      assert.strictEqual(block.code, readFileSync(fileOf(block), "utf8"), `${block.document}: ${block.name}`)
    }
  })

  const programs = blocks.filter(({ output }) => output !== undefined)

  it.each(programs)("$document shows the output of $name", (block) => {
    const { status, stderr, stdout } = spawnSync(process.execPath, [fileOf(block)], { encoding: "utf8" })
    assert.deepStrictEqual({ status, stdout }, { status: 0, stdout: block.output }, stderr)
  })
})
