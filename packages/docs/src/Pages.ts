/**
 * The published pages: includes are replaced by their content, and links lead to pages of the site, or to the hosted file of the
 * repository.
 *
 * A line `[@effect-mcp/tasks](../../tasks/README.md#top) <!-- @include -->` includes a section of a document; `#top` is the part before the
 * first section. When the file itself is read, the line is an ordinary link.
 */
import { existsSync, globSync, readFileSync } from "node:fs"
import * as path from "node:path"
import { prose, sectionOf, summaryOf, titleOf } from "./Markdown.ts"
import { groups, homes } from "./Navigation.ts"
import { docs, hosted, root } from "./Repository.ts"

export interface Page {
  /** Path on the site, without an extension. */
  readonly name: string
  readonly title: string
  readonly summary: string
  /** The published text. */
  readonly text: string
}

export interface Group {
  readonly title: string
  readonly pages: ReadonlyArray<Page>
}

const folder = path.join(docs, "pages")

const siteLink = (file: string, hash: string): string => {
  const inPages = path.relative(folder, file)
  if (!inPages.startsWith("..") && file.endsWith(".md")) return `/${inPages.replace(/\.md$/, "")}${hash}`
  const inRoot = path.relative(root, file)
  const home = homes[inRoot.replace(/\/(?:README\.md)?$/, "")]
  return home === undefined ? `${hosted(inRoot)}${hash}` : `/${home}`
}

const found = new Map<string, string>()

/** Pictures on pages: their paths on the site, and their files. */
export const pictures: ReadonlyMap<string, string> = found

const pictureOf = (file: string): string => {
  const place = `pictures/${path.relative(root, file).replaceAll(/[/\\]/g, "-")}`
  found.set(place, file)
  return `/${place}`
}

const linksOf = (document: string, text: string): string =>
  prose(text, (line) =>
    line.replaceAll(/(!?)\]\(([^)\s]+)\)/g, (link, mark: string, target: string) => {
      // Package READMEs link to files of the repository by their hosted URL.
      const isHosted = target.startsWith(hosted(""))
      if (!isHosted && /^(?:[a-z]+:|#|\/)/.test(target)) return link
      const [, to = "", hash = ""] = /^([^#]*)(#.*)?$/.exec(isHosted ? target.slice(hosted("").length) : target) ?? []
      const file = path.resolve(isHosted ? root : path.dirname(document), to)
      if (!existsSync(file))
        throw new Error(`${path.relative(root, document)} links to ${target}, which does not exist`)
      return /\.(?:png|svg)$/.test(to) ? `${mark}](${pictureOf(file)})` : `${mark}](${siteLink(file, hash)})`
    })
  )

const included = (document: string, target: string): string => {
  const [file = "", id] = target.split("#")
  const source = path.resolve(path.dirname(document), file)
  const text = readFileSync(source, "utf8")
  const section = id === undefined ? text : sectionOf(text, id)
  if (section === undefined) {
    throw new Error(`${path.relative(root, document)} includes ${target}: there is no such heading`)
  }
  return linksOf(source, section)
}

const include = /^\[[^\]]*\]\((\S+?)\) <!-- @include -->$/gm

const pageOf = (name: string): Page => {
  const document = path.join(folder, `${name}.md`)
  const own = readFileSync(document, "utf8")
  // The links in included sections are relative to their documents.
  const text = own
    .split(include)
    .map((part, index) => (index % 2 === 0 ? linksOf(document, part) : included(document, part)))
    .join("")
  return { name, title: titleOf(text), summary: /^  tagline: (.*)$/m.exec(own)?.[1] ?? summaryOf(text), text }
}

/** The start page of the site. */
export const home: Page = pageOf("index")

const listed = new Set(["index", ...groups.flatMap(({ pages }) => pages)])

/** Pages that the navigation does not list. They follow the page with which their name begins, as `testing-x` follows `testing`. */
const others = globSync("*.md", { cwd: folder })
  .map((file) => file.replace(/\.md$/, ""))
  .filter((name) => !listed.has(name))
  .toSorted()

/** The pages in the order of the navigation. Throws if a page has no place in it. */
export const all: ReadonlyArray<Group> = groups.map(({ pages, title }) => ({
  title,
  pages: pages.flatMap((name) => [name, ...others.filter((other) => other.startsWith(`${name}-`))]).map(pageOf)
}))

const placed = new Set(all.flatMap(({ pages }) => pages.map(({ name }) => name)))
const lost = others.filter((name) => !placed.has(name))
if (lost.length > 0) throw new Error(`src/Navigation.ts has no place for these pages: ${lost.join(", ")}`)
