/** A view's HTML, from a string, a file, or a module to bundle. */
import * as Effect from "effect/Effect"
import { readFileSync } from "node:fs"
import { basename } from "node:path"
import { fileURLToPath } from "node:url"

/** Where a view's HTML comes from. */
export type PageSource =
  | {
      /** The page. */
      readonly html: string
      readonly file?: never
      readonly bundle?: never
    }
  | {
      /** Path or `file:` URL of the page. It is read once, while the layer is built. */
      readonly file: string | URL
      readonly html?: never
      readonly bundle?: never
    }
  | {
      /**
       * Path or `file:` URL of a module, in TypeScript or JavaScript. It is bundled with all its imports into one page while the layer is
       * built. This needs the package `rolldown`. The module creates its own elements.
       */
      readonly bundle: string | URL
      readonly html?: never
      readonly file?: never
    }

const pathOf = (file: string | URL): string =>
  file instanceof URL || file.startsWith("file:") ? fileURLToPath(file) : file

const escaped = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;")

/** Escapes `</script`, which ends an inline script, and `<!--`, which changes how the rest is parsed. */
const inline = (code: string): string => code.replaceAll(/<(\/script|!--)/gi, String.raw`\x3C$1`)

/** Wraps a module's code in a page. */
export const pageOf = (title: string, code: string): string =>
  `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(title)}</title>
</head>
<body>
<script type="module">${inline(code)}</script>
</body>
</html>
`

const bundled = async (entry: string): Promise<string> => {
  const { rolldown } = await import("rolldown").catch((cause: unknown) => {
    throw new Error("bundling requires the package rolldown. Install it, or bundle the page yourself and use `file`", {
      cause
    })
  })
  const build = await rolldown({ input: entry, platform: "browser", logLevel: "silent" })
  try {
    const { output } = await build.generate({ format: "esm", minify: true, codeSplitting: false })
    return pageOf(basename(entry).replace(/\.[^.]*$/, ""), output[0].code)
  } finally {
    await build.close()
  }
}

/** Returns the HTML. A page that cannot be read or bundled is a defect, because its server cannot work. */
export const htmlOf = (uri: string, { bundle, file, html }: PageSource): Effect.Effect<string> => {
  const failed = (cause: unknown): never => {
    throw new Error(
      `Cannot load the page of the view ${uri}: ${cause instanceof Error ? cause.message : String(cause)}`,
      { cause }
    )
  }
  if (html !== undefined) return Effect.succeed(html)
  if (file === undefined) return Effect.promise(() => bundled(pathOf(bundle)).catch(failed))
  return Effect.sync(() => {
    try {
      return readFileSync(pathOf(file), "utf8")
    } catch (cause) {
      return failed(cause)
    }
  })
}
