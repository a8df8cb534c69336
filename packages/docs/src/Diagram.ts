/**
 * Diagrams of the pages, drawn when the site is built. Their source is Mermaid, which GitHub draws, too. The lines `accTitle` and `accDescr`
 * are their text for readers who cannot see them, and must be there.
 */
import { renderMermaidSVG } from "beautiful-mermaid"

/** Colours of the theme, so that diagrams follow light and dark. */
const colours = {
  bg: "var(--vp-c-bg)",
  fg: "var(--vp-c-text-1)",
  muted: "var(--vp-c-text-2)",
  line: "var(--vp-c-text-2)",
  accent: "var(--vp-c-brand-1)",
  surface: "var(--vp-c-bg-soft)",
  border: "var(--vp-c-border)"
}

const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;")

/** Returns the drawing as SVG for a page. `id` is unique on its page. */
export const draw = (source: string, id: string): string => {
  const said = (key: string): string => {
    const text = new RegExp(`^\\s*${key}: (.+)$`, "m").exec(source)?.[1]
    if (text === undefined) throw new Error(`This diagram has no ${key}:\n${source}`)
    return escaped(text)
  }
  const drawn = renderMermaidSVG(source.replaceAll(/^\s*acc(?:Title|Descr): .*\n/gm, ""), {
    ...colours,
    padding: 8,
    transparent: true
  })
  const svg = drawn
    // The theme has the styles: Vue drops them from templates, and they would load a font from another host.
    .replace(/<style>[^]*?<\/style>/, "")
    .replaceAll(/ id="([\w-]+)"/g, ` id="${id}-$1"`)
    .replaceAll(/url\(#([\w-]+)\)/g, `url(#${id}-$1)`)
    .replace("<svg ", `<svg role="img" aria-labelledby="${id}-title" aria-describedby="${id}-description" `)
    .replace(
      />/,
      `><title id="${id}-title">${said("accTitle")}</title><desc id="${id}-description">${said("accDescr")}</desc>`
    )
  // Scrolls sideways in a narrow window, so the keyboard must reach it.
  return `<div class="diagram" tabindex="0" role="group" aria-label="${said("accTitle")}">${svg.replaceAll(/\n\s*/g, "")}</div>\n`
}
