/**
 * How deeply a JSON text is nested, found without parsing it: a message is bounded before any code walks it.
 *
 * Every scan is linear in the length of the text; most texts are not scanned at all.
 */

const quote = 34
const backslash = 92
/** `[` and `{`, and `]` and `}`, differ in one bit. */
const opening = 123
const closing = 125
const isOpening = (code: number): boolean => (code | 32) === opening
const isClosing = (code: number): boolean => (code | 32) === closing

/** The index of the quote that ends the string at `start`; the length of the text where there is none. */
const endOfString = (text: string, start: number): number => {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let before = end - 1
    while (text.charCodeAt(before) === backslash) before--
    if ((end - before) % 2 === 1) return end
  }
  return text.length
}

/** Whether the text has more than `limit` opening brackets, those inside strings included. */
const hasMoreBrackets = (text: string, limit: number): boolean => {
  let count = 0
  for (const bracket of ["{", "["]) {
    for (let at = text.indexOf(bracket); at !== -1; at = text.indexOf(bracket, at + 1)) if (++count > limit) return true
  }
  return false
}

/** Whether a JSON text is nested deeper than `limit`. A text shorter than twice the limit is not scanned. */
export const isDeeper = (text: string, limit: number): boolean => {
  // Each level has two brackets.
  if (text.length < 2 * limit || !hasMoreBrackets(text, limit)) return false
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === quote) at = endOfString(text, at)
    else if (isOpening(code)) {
      if (++depth > limit) return true
    } else if (isClosing(code)) depth--
  }
  return false
}

/** An object or array of one level of a text: its text, and its depth (1 where it holds no other). */
export interface NestedText {
  readonly text: string
  readonly depth: number
}

/** The text with every object and array below `level` emptied, and the parts of that level, in order. */
export const outline = (
  text: string,
  level: number
): { readonly text: string; readonly parts: ReadonlyArray<NestedText> } => {
  const parts: Array<NestedText> = []
  let kept = ""
  let from = 0
  let start = 0
  let depth = 0
  let deepest = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === quote) at = endOfString(text, at)
    else if (isOpening(code)) {
      deepest = Math.max(deepest, ++depth)
      if (depth === level) {
        start = at
        deepest = depth
      } else if (depth === level + 1) kept += text.slice(from, at + 1)
    } else if (isClosing(code)) {
      if (depth === level) parts.push({ text: text.slice(start, at + 1), depth: deepest - level + 1 })
      else if (depth === level + 1) from = at
      depth--
    }
  }
  return { text: kept + text.slice(from), parts }
}
