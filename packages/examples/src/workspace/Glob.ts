/**
 * Matches a client's globs without backtracking: `*`, `?`, `**`, `[a-z]`,
 * `[!a]` and `{a,b}`. All other characters are literal.
 *
 * The pattern is compiled to a list of steps (Thompson's construction), which a
 * path walks in parallel. The time is O(pattern x path) for any pattern.
 * Alternatives are branches and never expanded.
 */

/** A step consumes part of a path, or jumps without consuming anything. */
type Step =
  | { readonly kind: "take"; readonly accepts: (character: string) => boolean }
  | { readonly kind: "jump"; readonly to: ReadonlyArray<number> }

const inSegment = (character: string): boolean => character !== "/"
const anything = (): boolean => true

/**
 * Parses a set of characters: `[abc]`, `[a-z]`, `[!a]`. Never matches a slash.
 * Returns `undefined` if the bracket is not closed.
 */
const parseSet = (glob: ReadonlyArray<string>, open: number) => {
  const negated = glob[open + 1] === "!" || glob[open + 1] === "^"
  const first = open + (negated ? 2 : 1)
  // A closing bracket at the start is a literal character.
  const close = glob.indexOf("]", first + 1)
  if (close === -1) return undefined
  const ranges: Array<readonly [string, string]> = []
  for (let at = first; at < close; at++) {
    const from = glob[at] ?? ""
    const isRange = glob[at + 1] === "-" && at + 2 < close
    ranges.push([from, isRange ? (glob[at + 2] ?? "") : from])
    if (isRange) at += 2
  }
  const accepts = (character: string): boolean =>
    inSegment(character) &&
    ranges.some(([from, to]) => character >= from && character <= to) !==
      negated
  return { accepts, close }
}

const compile = (source: string): ReadonlyArray<Step> => {
  const glob = Array.from(source)
  const steps: Array<Step> = []
  const take = (accepts: (character: string) => boolean) =>
    void steps.push({ kind: "take", accepts })
  /** Repeats the steps of `body` any number of times. */
  const repeat = (body: () => void): void => {
    const loop: Array<number> = []
    const start = steps.push({ kind: "jump", to: loop }) - 1
    body()
    steps.push({ kind: "jump", to: [start] })
    loop.push(start + 1, steps.length)
  }
  /**
   * Open braces: the starts of their alternatives, and the jumps to their end.
   */
  const open: Array<{
    readonly starts: Array<number>
    readonly ends: Array<Array<number>>
  }> = []
  const leave = (ends: Array<Array<number>>): void => {
    const end: Array<number> = []
    ends.push(end)
    steps.push({ kind: "jump", to: end })
  }
  // An unclosed brace is a literal character.
  let closing = glob.filter((character) => character === "}").length
  for (let at = 0; at < glob.length; at++) {
    const character = glob[at] ?? ""
    const brace = open.at(-1)
    const set = character === "[" ? parseSet(glob, at) : undefined
    if (set !== undefined) {
      take(set.accepts)
      at = set.close
    } else if (character === "?") {
      take(inSegment)
    } else if (character === "*" && glob[at + 1] === "*") {
      const alone = (at === 0 || glob[at - 1] === "/") && glob[at + 2] === "/"
      if (alone) {
        // Any number of whole folders, each with its slash.
        repeat(() => {
          take(inSegment)
          repeat(() => take(inSegment))
          take((slash) => slash === "/")
        })
        at += 2
      } else {
        repeat(() => take(anything))
        at += 1
      }
    } else if (character === "*") {
      repeat(() => take(inSegment))
    } else if (character === "{" && closing > open.length) {
      const starts: Array<number> = []
      steps.push({ kind: "jump", to: starts })
      starts.push(steps.length)
      open.push({ starts, ends: [] })
    } else if (character === "," && brace !== undefined) {
      leave(brace.ends)
      brace.starts.push(steps.length)
    } else if (character === "}" && brace !== undefined) {
      open.pop()
      closing--
      for (const end of brace.ends) end.push(steps.length)
    } else {
      if (character === "}") closing--
      take((one) => one === character)
    }
  }
  // An unclosed alternative ends with the pattern.
  for (const { ends } of open) for (const end of ends) end.push(steps.length)
  return steps
}

/** Returns a function that tests whether a path matches the glob. */
export const matcher = (glob: string): ((path: string) => boolean) => {
  const steps = compile(glob)
  /** Adds a step, or the targets of a jump, each once. */
  const add = (found: Set<number>, first: number): void => {
    const waiting = [first]
    for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
      if (found.has(at)) continue
      found.add(at)
      const step = steps[at]
      if (step?.kind === "jump") waiting.push(...step.to)
    }
  }
  return (path) => {
    let current = new Set<number>()
    add(current, 0)
    for (const character of path) {
      const next = new Set<number>()
      for (const at of current) {
        const step = steps[at]
        if (step?.kind === "take" && step.accepts(character)) add(next, at + 1)
      }
      if (next.size === 0) return false
      current = next
    }
    return current.has(steps.length)
  }
}
