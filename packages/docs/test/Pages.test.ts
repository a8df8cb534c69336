import { assert, describe, it } from "@effect/vitest"
import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"
import * as Api from "../src/Api.ts"
import * as Llms from "../src/Llms.ts"
import { sectionOf } from "../src/Markdown.ts"
import * as Pages from "../src/Pages.ts"
import { published, root } from "../src/Repository.ts"

const pages = Pages.all.flatMap(({ pages }) => pages)
const api = Api.read()
const modules = api.flatMap(({ modules }) => modules)
const textOf = new Map([...pages, ...modules].map(({ name, text }) => [`/${name}`, text]))
const pageNamed = (name: string): string => textOf.get(`/${name}`) ?? assert.fail(`There is no page ${name}`)

describe("Site pages", () => {
  it("Every page has a title and a summary", () => {
    assert.isAtLeast(pages.length, 25)
    for (const { name, summary, title } of pages) {
      assert.notStrictEqual(title, "", name)
      assert.match(summary, /^[A-Z`].{30,}[.:]$/, name)
    }
  })

  it("Links lead to existing pages and headings", () => {
    const links = [Pages.home, ...pages].flatMap(({ name, text }) =>
      [...text.matchAll(/\]\((\/[^)#\s]*|)(?:#([^)\s]+))?\)/g)].map(([, to = "", id]) => ({ name, to, id }))
    )
    assert.isAtLeast(links.length, 60)
    for (const { id, name, to } of links) {
      if (to === "/api/" || Pages.pictures.has(to.slice(1))) continue
      const target = textOf.get(to === "" ? `/${name}` : to)
      if (target === undefined) assert.fail(`${name} leads to ${to}`)
      if (id !== undefined) assert.isDefined(sectionOf(target, id), `${name} leads to ${to}#${id}`)
    }
  })

  it("Code on the pages fits the column", () => {
    const code = pages.flatMap(({ name, text }) =>
      [...text.matchAll(/^```(?:ts|tsx|js|json)\b[^\n]*\n([^]*?)^```$/gm)].flatMap(([, code = ""]) =>
        code.split("\n").map((line) => ({ name, line }))
      )
    )
    assert.isAtLeast(code.length, 3000)
    // Output in a comment is as long as it is.
    const wide = code.filter(({ line }) => line.length > 80 && !line.trim().startsWith("// => "))
    assert.deepStrictEqual(wide, [])
  })

  it("Every include is expanded, and no link leaves the folder", () => {
    for (const { name, text } of pages) {
      assert.notInclude(text, "@include", name)
      assert.notMatch(text, /\]\(\.\.?\//, name)
    }
  })

  it("The page on long-running work has nine promises, each with its tests", () => {
    const numbers = (text: string, row: RegExp) => [...text.matchAll(row)].map(([, number]) => Number(number))
    const nine = [1, 2, 3, 4, 5, 6, 7, 8, 9]
    assert.deepStrictEqual(numbers(pageNamed("long-work"), /^(\d)\. \*\*\S.*\n {3}- `packages\//gm), nine)
  })

  it("The troubleshooting page only has errors whose messages are in the sources", () => {
    const sources = globSync("packages/*/src/**/*.ts", { cwd: root })
      .filter((file) => !file.startsWith("packages/docs/"))
      .map((file) => readFileSync(join(root, file), "utf8"))
      .join("\n")
    const messages = [...pageNamed("troubleshooting").matchAll(/^### `(.*)`$/gm)].map(([, message = ""]) => message)
    assert.isAtLeast(messages.length, 20)
    for (const message of messages) {
      for (const part of message.split("...")) {
        // The compiler's messages hold code of their own.
        const text = part.trim().replace(/ as$/, "")
        assert.include(sources, text, message)
      }
    }
  })
})

describe("API reference", () => {
  it("The API reference has every public module of each published package with modules", () => {
    const expected = published.flatMap(({ exports, folder }) =>
      exports
        .map(([subpath]) => subpath)
        .filter((subpath) => /^\.\/(?!internal\/)/.test(subpath) && !/\.(?:json|yml)$/.test(subpath))
        .map((subpath) => `api/${folder}/${subpath.slice(2)}`)
    )
    const names = new Set(modules.map(({ name }) => name))
    assert.isAtLeast(expected.length, 100)
    assert.deepStrictEqual(
      expected.filter((name) => !names.has(name)),
      []
    )
  })

  it("The API reference has an export's docstring, example and signature", () => {
    const layer = sectionOf(pageNamed("api/core/Tools"), "layer") ?? ""
    assert.match(layer, /^## layer\n\nOffers `tool` for the lifetime of the layer/)
    assert.match(layer, /declare function layer<[^]*\*\*Example\*\*[^]*```ts\nimport/)
  })

  it("The API reference shows options as a table and links to their source", () => {
    const options = sectionOf(pageNamed("api/client/Stdio"), "options") ?? ""
    assert.include(options, "| `args` | `ReadonlyArray<string>` | none | Arguments of the program. |")
    assert.match(options, /Defined in \[packages\/client\/src\/transport\/Stdio\.ts\]\(\S+#L\d+\)/)
  })

  it("The API reference has the classes of a package without modules", () => {
    assert.include(pageNamed("api/promise/index"), "\n## McpServer\n")
  })
})

describe("llms.txt", () => {
  it("llms.txt lists every page and module with a link to its Markdown", () => {
    const text = Llms.short(Pages.home, Pages.all, api)
    assert.match(text, /^# effect-mcp\n\n> .+\n\n## /)
    for (const { name, title } of [...pages, ...modules]) assert.include(text, `- [${title}](/${name}.md)`)
  })

  it("The full llms.txt has the text of all pages", () => {
    const text = Llms.full(Pages.all)
    for (const { name, title } of pages) assert.include(text, `<!-- /${name}.md -->\n\n# ${title}\n`)
  })
})
