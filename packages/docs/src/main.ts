/**
 * Builds the site: `npm run docs` writes it to `packages/docs/.site/html`, `npm run docs -- --dev` serves it and follows changes of styles.
 * The declarations of the packages must be there (`tsc -b`).
 */
import { cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs"
import * as path from "node:path"
import { build, createServer } from "vitepress"
import * as Api from "./Api.ts"
import * as Llms from "./Llms.ts"
import * as Pages from "./Pages.ts"
import { docs } from "./Repository.ts"

const site = path.join(docs, ".site")
const sources = path.join(site, "pages")

const write = (name: string, text: string): void => {
  const file = path.join(sources, name)
  mkdirSync(path.dirname(file), { recursive: true })
  writeFileSync(file, text)
}

const sidebar = (api: ReadonlyArray<Api.ApiPackage>) => ({
  "/": Pages.all.map(({ pages, title }) => ({
    text: title,
    items: pages.map(({ name, title }) => ({ text: title, link: `/${name}` }))
  })),
  "/api/": api.map(({ modules, package: { name } }) => ({
    text: name,
    collapsed: true,
    items: modules.map((page) => ({ text: page.title, link: `/${page.name}` }))
  }))
})

const apiIndex = (api: ReadonlyArray<Api.ApiPackage>): string =>
  [
    "# API",
    "The public modules of each package, from their docstrings.",
    ...api.map(({ modules, package: { description, name } }) =>
      [`## ${name}`, description, modules.map((page) => `[${page.title}](/${page.name})`).join(" · ")].join("\n\n")
    )
  ].join("\n\n")

/** Writes the input of VitePress and the static files. */
const prepare = (): void => {
  const api = Api.read()
  rmSync(site, { recursive: true, force: true })
  cpSync(path.join(docs, "public"), path.join(sources, "public"), { recursive: true })
  const pages = Pages.all.flatMap(({ pages }) => pages)
  const reference = api.flatMap(({ modules }) => modules)
  for (const { name, text } of [Pages.home, ...pages, ...reference]) {
    write(`${name}.md`, text)
    // The page as Markdown, for models.
    write(`public/${name}.md`, text)
  }
  for (const [place, file] of Pages.pictures) cpSync(file, path.join(sources, "public", place))
  write("api/index.md", apiIndex(api))
  write("public/llms.txt", Llms.short(Pages.home, Pages.all, api))
  write("public/llms-full.txt", Llms.full(Pages.all))
  writeFileSync(path.join(site, "sidebar.json"), JSON.stringify(sidebar(api)))
}

prepare()
if (process.argv.includes("--dev")) {
  const server = await createServer(docs, { port: 5173 })
  await server.listen()
  server.printUrls()
} else {
  await build(docs)
}
