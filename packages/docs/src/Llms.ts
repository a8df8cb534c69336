/** Writes `llms.txt`, an index of the pages for models (https://llmstxt.org), and `llms-full.txt` with the text of all pages. */
import type { ApiPackage } from "./Api.ts"
import type { Group, Page } from "./Pages.ts"

const line = (name: string, title: string, summary: string): string =>
  `- [${title}](/${name}.md)${summary === "" ? "" : `: ${summary}`}`

export const short = (home: Page, groups: ReadonlyArray<Group>, api: ReadonlyArray<ApiPackage>): string =>
  [
    "# effect-mcp",
    `> ${home.summary}`,
    ...groups.map(({ pages, title }) =>
      [`## ${title}`, pages.map((page) => line(page.name, page.title, page.summary)).join("\n")].join("\n\n")
    ),
    "## API",
    ...api.map(({ modules, package: { description, name } }) =>
      [`### ${name}`, description, modules.map((page) => line(page.name, page.title, "")).join("\n")].join("\n\n")
    )
  ].join("\n\n") + "\n"

/** Returns the text of all pages, each with its URL. */
export const full = (groups: ReadonlyArray<Group>): string =>
  groups
    .flatMap(({ pages }) => pages)
    .map(({ name, text }) => `<!-- /${name}.md -->\n\n${text.trim()}\n`)
    .join("\n")
