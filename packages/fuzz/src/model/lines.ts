/** The longest line that is kept, in characters: a peer that writes without an end is a fault, not a reason to fail. */
const longestLine = 16 * 1024 * 1024

/** Takes texts apart into lines, without blank ones. Of a line that is too long its beginning is taken. Each character is looked at once. */
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
