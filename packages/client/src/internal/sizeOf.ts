/** Estimates the size of a decoded value, which is about the length of its JSON, without creating that text. */

/** Uses an explicit stack, because a value may be nested deeper than the call stack allows. */
export const sizeOf = (value: unknown): number => {
  const left: Array<unknown> = [value]
  let size = 0
  while (left.length > 0) {
    const next = left.pop()
    if (typeof next === "string") size += next.length + 2
    else if (ArrayBuffer.isView(next)) size += Math.ceil(next.byteLength / 3) * 4
    else if (Array.isArray(next)) {
      size += next.length + 2
      for (const item of next) left.push(item)
    } else if (typeof next === "object" && next !== null) {
      for (const [key, item] of Object.entries(next)) {
        size += key.length + 4
        left.push(item)
      }
    } else size += 4
  }
  return size
}
