/** Finds titles and sections of Markdown documents. Lines inside fences are not headings. */

interface Heading {
  readonly line: number
  readonly level: number
  readonly text: string
}

/** Returns the id of a heading: lower-case words with hyphens between them, as on GitHub and in VitePress. */
export const slug = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[`*]/g, "")
    .replaceAll(/[^\p{L}\p{N}\s-]/gu, "")
    .trim()
    .replaceAll(/\s+/g, "-")

/** Returns, for each line, whether it is inside a fence. The fence's own lines count. */
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

/** Applies `change` to the lines outside fences. */
export const prose = (text: string, change: (line: string) => string): string => {
  const lines = text.split("\n")
  const inside = fenced(lines)
  return lines.map((line, index) => (inside[index] === true ? line : change(line))).join("\n")
}

export const titleOf = (text: string): string => headingsOf(text.split("\n"))[0]?.text ?? ""

/** Returns the first paragraph after the title as one line. */
export const summaryOf = (text: string): string => {
  const [, after = ""] = /^# .*\n+([^]*)$/m.exec(text) ?? []
  return (after.split(/\n\s*\n/)[0] ?? "").replaceAll(/\s+/g, " ").trim()
}

/**
 * Returns the section of a heading, including its subsections, by the heading's slug. `top` is the part between the title and the first
 * section. Returns `undefined` if there is no such heading.
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
