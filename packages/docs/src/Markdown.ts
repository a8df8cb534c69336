/** Parts of Markdown documents: their title, and sections by heading. Lines inside of fences are no headings. */

interface Heading {
  readonly line: number
  readonly level: number
  readonly text: string
}

/** The id of a heading in a link: words in small letters with hyphens between them, as VitePress and GitHub make it. */
export const slug = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[`*]/g, "")
    .replaceAll(/[^\p{L}\p{N}\s-]/gu, "")
    .trim()
    .replaceAll(/\s+/g, "-")

/** Whether each line is inside of a fence, the fence's own lines included. */
const fenced = (lines: ReadonlyArray<string>): ReadonlyArray<boolean> => {
  let fence: string | undefined
  return lines.map((line) => {
    const mark = /^\s*(`{3,})/.exec(line)?.[1]
    const inside = fence !== undefined || mark !== undefined
    if (fence === undefined) fence = mark
    else if (mark !== undefined && mark.length >= fence.length) fence = undefined
    return inside
  })
}

const headingsOf = (lines: ReadonlyArray<string>): ReadonlyArray<Heading> => {
  const inside = fenced(lines)
  return lines.flatMap((text, line) => {
    const [, marks, heading] = /^(#+)\s+(.*)$/.exec(text) ?? []
    return marks === undefined || heading === undefined || inside[line] === true
      ? []
      : [{ line, level: marks.length, text: heading }]
  })
}

/** The lines outside of fences changed by `change`. */
export const prose = (text: string, change: (line: string) => string): string => {
  const lines = text.split("\n")
  const inside = fenced(lines)
  return lines.map((line, index) => (inside[index] === true ? line : change(line))).join("\n")
}

export const titleOf = (text: string): string => headingsOf(text.split("\n"))[0]?.text ?? ""

/** The first paragraph behind the title, in one line. */
export const summaryOf = (text: string): string => {
  const [, after = ""] = /^# .*\n+([^]*)$/m.exec(text) ?? []
  return (after.split(/\n\s*\n/)[0] ?? "").replaceAll(/\s+/g, " ").trim()
}

/**
 * The section of a heading with what is below it, by the heading's slug; `top` is what stands between the title and the first section.
 * Undefined where there is no such heading.
 */
export const sectionOf = (text: string, id: string): string | undefined => {
  const lines = text.split("\n")
  const headings = headingsOf(lines)
  if (id === "top") {
    const [title, next] = headings
    return (
      title &&
      lines
        .slice(title.line + 1, next?.line)
        .join("\n")
        .trim()
    )
  }
  const start = headings.find(({ text }) => slug(text) === id)
  if (start === undefined) return undefined
  const end = headings.find(({ level, line }) => line > start.line && level <= start.level)
  return lines.slice(start.line, end?.line).join("\n").trim()
}
