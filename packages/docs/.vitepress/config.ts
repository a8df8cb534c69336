import { readFileSync } from "node:fs"
import * as path from "node:path"
import { defineConfig } from "vitepress"
import { draw } from "../src/Diagram.ts"
import { sizeOf } from "../src/Picture.ts"

const site = path.resolve(import.meta.dirname, "../.site")

export default defineConfig({
  title: "effect-mcp",
  description: "Model Context Protocol servers and clients for TypeScript, with Effect or async functions",
  lang: "en",
  srcDir: ".site/pages",
  outDir: ".site/html",
  cacheDir: ".site/cache",
  srcExclude: ["public/**"],
  cleanUrls: true,
  metaChunk: true,
  head: [["link", { rel: "icon", href: "/icon.svg", type: "image/svg+xml" }]],
  vite: { build: { chunkSizeWarningLimit: 2000 } },
  markdown: {
    theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" },
    image: { lazyLoading: true },
    config: (md) => {
      const { fence, image } = md.renderer.rules
      md.renderer.rules.fence = (tokens, index, options, env, self) => {
        const token = tokens[index]
        if (token?.info.trim() === "mermaid") return draw(token.content, `diagram-${index}`)
        return fence?.(tokens, index, options, env, self) ?? ""
      }
      md.renderer.rules.image = (tokens, index, options, env, self) => {
        const token = tokens[index]
        const source = token?.attrGet("src") ?? ""
        const size = source.startsWith("/") ? sizeOf(path.join(site, "pages/public", source)) : undefined
        if (size !== undefined) {
          token?.attrSet("width", String(size.width))
          token?.attrSet("height", String(size.height))
        }
        return image?.(tokens, index, options, env, self) ?? ""
      }
    }
  },
  themeConfig: {
    outline: [2, 3],
    notFound: {
      title: "Page not found",
      quote: "The address may be wrong, or the page may have moved. Press Ctrl+K to search all pages.",
      linkText: "Go to the front page"
    },
    search: {
      provider: "local",
      options: {
        // The text around each match.
        detailedView: true,
        miniSearch: {
          searchOptions: {
            combineWith: "AND",
            fuzzy: 0.1,
            // "a" is a word, and no beginning of others.
            prefix: (term: string) => term.length > 2,
            // A page about a task before the reference.
            boostDocument: (id: string) => (id.startsWith("/api/") ? 0.3 : 1)
          }
        }
      }
    },
    nav: [
      { text: "Guide", link: "/start", activeMatch: "^/(?!api)." },
      { text: "API", link: "/api/", activeMatch: "^/api" },
      { text: "llms.txt", link: "/llms.txt", target: "_blank" }
    ],
    sidebar: JSON.parse(readFileSync(path.join(site, "sidebar.json"), "utf8")),
    socialLinks: [{ icon: "github", link: "https://github.com/effect-mcp/effect-mcp" }]
  }
})
