/**
 * The examples of docstrings: `@example` and a block of TypeScript. All are compiled in one program and run in one process, together with
 * the code of pages and AGENTS.md, of which `docs/pages.test.ts` runs everything but modules.
 *
 * An example is a module that imports its dependencies by public names. Comments give the lines it prints with `console.log`, in order: `// =>
 * text`.
 */
import { assert, beforeAll, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join, relative } from "node:path"
import { blocks, root, write } from "../support/pages.ts"

/** Inside the package of examples, so that the modules resolve the packages a user would install. */
const directory = join(root, "packages/examples/.docstrings")

interface Example {
  /** The source file and the line of the `@example`. */
  readonly place: string
  /** Empty if no block follows. */
  readonly code: string
  readonly file: string
}

const packages = globSync("packages/*", { cwd: root })
  .filter((name) => JSON.parse(readFileSync(join(root, name, "package.json"), "utf8")).private !== true)
  .toSorted()

const examplesIn = (source: string): ReadonlyArray<Example> => {
  const text = readFileSync(join(root, source), "utf8")
  return [...text.matchAll(/\/\*\*[^]*?\*\//g)].flatMap(({ 0: comment, index }) =>
    [...comment.matchAll(/^\s*\*\s*@example\b/gm)].map((tag): Example => {
      const line = text.slice(0, index + tag.index + tag[0].length).split("\n").length
      const after = comment.slice(tag.index + tag[0].length).replaceAll(/^[ \t]*\* ?/gm, "")
      const [, code = ""] = /^[^@]*?```ts\n([^]*?)^```/m.exec(after) ?? []
      const name = relative("packages", source).replace("/src/", "-").replaceAll("/", "-").replace(/\.ts$/, "")
      return { place: `${source}:${line}`, code, file: join(directory, `${name}-${line}.ts`) }
    })
  )
}

const docstrings = packages
  .flatMap((name) => globSync(`${name}/src/**/*.ts`, { cwd: root }))
  .toSorted()
  .flatMap(examplesIn)

const modules = blocks
  .filter(({ kind }) => kind === "module")
  .map(({ code, file, place }): Example => ({ place, code, file: join(directory, "pages", file) }))

const examples = [...docstrings, ...modules]

const tsconfig = {
  extends: "../../../tsconfig.base.json",
  include: ["**/*.ts"],
  references: packages.map((name) => ({ path: `../../../${name}/src` })),
  compilerOptions: {
    composite: false,
    incremental: false,
    noEmit: true,
    rewriteRelativeImportExtensions: false,
    allowImportingTsExtensions: true,
    // An example may define something only to show it.
    noUnusedLocals: false,
    lib: ["ES2024", "DOM"],
    types: ["node"]
  }
}

describe("Examples in docstrings and pages", () => {
  beforeAll(() => {
    rmSync(directory, { recursive: true, force: true })
    mkdirSync(directory)
    writeFileSync(join(directory, "tsconfig.json"), JSON.stringify(tsconfig))
    for (const { code, file } of docstrings) writeFileSync(file, code)
    write(join(directory, "pages"))
    return () => rmSync(directory, { recursive: true, force: true })
  })

  it("Docstring examples are TypeScript blocks", () => {
    assert.deepStrictEqual(
      docstrings.filter(({ code }) => code === "").map(({ place }) => place),
      []
    )
  })

  it("Examples compile", () => {
    const { status, stdout } = spawnSync(
      process.execPath,
      [join(root, "node_modules/typescript/bin/tsc"), "-b", join(directory, "tsconfig.json")],
      { encoding: "utf8", cwd: root }
    )
    assert.strictEqual(status, 0, stdout)
  })

  it("Examples print the lines in their comments", () => {
    const { stderr, stdout } = spawnSync(
      process.execPath,
      [join(import.meta.dirname, "../support/run-programs.mjs"), ...examples.map(({ file }) => file)],
      { encoding: "utf8" }
    )
    assert.isNotEmpty(stdout, stderr)
    const printed: ReadonlyArray<{ readonly lines: ReadonlyArray<string>; readonly error?: string }> =
      JSON.parse(stdout)
    const expected = examples.map(({ code, place }) => ({
      place,
      lines: [...code.matchAll(/\/\/ => (.*)$/gm)].map(([, line = ""]) => line)
    }))
    assert.deepStrictEqual(
      printed.map((output, index) => ({ place: examples[index]?.place ?? "", ...output })),
      expected
    )
  })
})
