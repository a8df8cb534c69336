/** One write is not much larger, however much waits: what is written is copied more than once, and large copies are cleared away late. */
const writeSize = 64 * 1024

/** Removes what is written next. */
export const takeSome = (waiting: Array<string>): string => {
  let text = ""
  let taken = 0
  while (taken < waiting.length && text.length < writeSize) text += waiting[taken++] ?? ""
  waiting.splice(0, taken)
  return text
}
