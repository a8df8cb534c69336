/** Maximum length of a line, in characters, because a faulty peer may write without an end. */
const longestLine = 16 * 1024 * 1024

/** Splits texts into lines, skips blank ones, and truncates lines that are too long. Looks at each character once. */
export const linesOf = (take: (line: string) => void, longest = longestLine): ((text: string) => void) => {
  let parts: Array<string> = []
  let length = 0
  const add = (text: string): void => {
    if (length < longest) parts.push(text.slice(0, longest - length))
    length += text.length
  }
  return (text) => {
    let start = 0
    for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n", start)) {
      add(text.slice(start, end))
      const line = parts.join("")
      parts = []
      length = 0
      start = end + 1
      if (line.trim() !== "") take(line)
    }
    if (start < text.length) add(text.slice(start))
  }
}
