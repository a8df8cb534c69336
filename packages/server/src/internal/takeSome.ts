/** The size of one write, in characters: a write is copied more than once, and large copies are collected late. */
const writeSize = 64 * 1024

/** Removes the texts of the next write from `waiting`. */
export const takeSome = (waiting: Array<string>): string => {
  let text = ""
  let taken = 0
  while (taken < waiting.length && text.length < writeSize) text += waiting[taken++] ?? ""
  waiting.splice(0, taken)
  return text
}
