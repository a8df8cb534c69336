/**
 * Measures the nesting depth of JSON text without parsing it, so that a message is checked before any code walks it.
 *
 * Each scan is linear in the length of the text, and most texts don't have to be scanned at all.
 */

const quote = 34
const backslash = 92
/** `[` and `{` differ in one bit, and so do `]` and `}`. */
const opening = 123
const closing = 125
const isOpening = (code: number): boolean => (code | 32) === opening
const isClosing = (code: number): boolean => (code | 32) === closing

/** Returns the index of the quote that closes the string starting at `start`, or the length of the text if there is none. */
const endOfString = (text: string, start: number): number => {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let before = end - 1
    while (text.charCodeAt(before) === backslash) before--
    if ((end - before) % 2 === 1) return end
  }
  return text.length
}

/** True if the text contains more than `limit` opening brackets, including brackets inside strings. */
const hasMoreBrackets = (text: string, limit: number): boolean => {
  let count = 0
  for (const bracket of ["{", "["]) {
    for (let at = text.indexOf(bracket); at !== -1; at = text.indexOf(bracket, at + 1)) if (++count > limit) return true
  }
  return false
}

/** True if JSON text is nested deeper than `limit`. Text shorter than twice the limit isn't scanned. */
export const isDeeper = (text: string, limit: number): boolean => {
  // Each level needs two brackets.
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

/** An object or array at one level of a text, and its depth (1 if it doesn't contain another object or array). */
export interface NestedText {
  readonly text: string
  readonly depth: number
}

/** Returns the text with every object and array below `level` emptied, and the parts at that level, in order. */
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
