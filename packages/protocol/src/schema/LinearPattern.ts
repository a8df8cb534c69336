/**
 * Matches untrusted regular expressions in bounded time. A backtracking engine takes exponential time for some short expressions and cannot
 * be interrupted. This engine advances all alternatives together, one code point at a time.
 *
 * Syntax and semantics are JavaScript's with the `u` flag. Backreferences, lookbehind and inline flags are not supported.
 */

/** The expression is too large, or uses a feature that cannot be matched in bounded time. */
export class UnsupportedPattern extends Error {}

/** Thrown if a validation has used up its steps. */
class TooManySteps extends Error {}

type Test = (character: string) => boolean
type Node =
  | { readonly type: "character"; readonly test: Test }
  | { readonly type: "sequence" | "choice"; readonly parts: ReadonlyArray<Node> }
  | { readonly type: "repeat"; readonly part: Node; readonly min: number; readonly max: number }
  | { readonly type: "assert"; readonly kind: "^" | "$" | "b" | "B" }
  | { readonly type: "look"; readonly negated: boolean; readonly part: Node }

/** Maximum number of instructions in an expression, with counted repetitions expanded. */
const maxSize = 10_000
/** Maximum nesting of groups. */
const maxDepth = 100
/** Maximum length of an expression. */
const maxLength = 100_000

class Parser {
  private readonly source: string
  private at = 0
  private depth = 0

  constructor(source: string) {
    this.source = source
  }

  /** Parses up to the end of the group. */
  choice(): Node {
    const parts = [this.sequence()]
    while (this.takes("|")) parts.push(this.sequence())
    return parts.length === 1 && parts[0] !== undefined ? parts[0] : { type: "choice", parts }
  }

  private takes(text: string): boolean {
    if (!this.source.startsWith(text, this.at)) return false
    this.at += text.length
    return true
  }

  private matching(expression: RegExp): RegExpExecArray | null {
    expression.lastIndex = this.at
    const found = expression.exec(this.source)
    if (found !== null) this.at += found[0].length
    return found
  }

  private sequence(): Node {
    const parts: Array<Node> = []
    while (this.at < this.source.length && !/[|)]/.test(this.source.charAt(this.at))) parts.push(this.term())
    return { type: "sequence", parts }
  }

  private term(): Node {
    const part = this.part()
    const found = this.matching(/(?:([*+?])|\{(\d+)(,?)(\d*)\})\??/y)
    if (found === null) return part
    const [, sign, least, comma, most] = found
    if (sign !== undefined) return { type: "repeat", part, min: sign === "+" ? 1 : 0, max: sign === "?" ? 1 : Infinity }
    const max = comma === "" ? Number(least) : most === "" ? Infinity : Number(most)
    return { type: "repeat", part, min: Number(least), max }
  }

  private part(): Node {
    if (this.takes("^")) return { type: "assert", kind: "^" }
    if (this.takes("$")) return { type: "assert", kind: "$" }
    if (this.takes("\\b")) return { type: "assert", kind: "b" }
    if (this.takes("\\B")) return { type: "assert", kind: "B" }
    const group = this.matching(/\((?:\?(?::|=|!|<(?![=!])[^>]*>))?(?!\?)/y)?.[0]
    if (group !== undefined) {
      if (++this.depth > maxDepth) throw new UnsupportedPattern(`more than ${maxDepth} nested groups`)
      const part = this.choice()
      this.depth--
      this.at++
      return group === "(?=" || group === "(?!" ? { type: "look", negated: group === "(?!", part } : part
    }
    if (this.takes("(")) throw new UnsupportedPattern("lookbehind and inline flags are not supported")
    return { type: "character", test: this.character() }
  }

  private character(): Test {
    const set = this.matching(/\[(?:\\[^]|[^\]\\])*\]|\.|\\[dDwWsS]|\\[pP]\{[^}]*\}/uy)?.[0]
    if (set !== undefined) {
      const one = new RegExp(`^${set}$`, "u")
      return (character) => one.test(character)
    }
    if (/^\\[k1-9]/.test(this.source.slice(this.at, this.at + 2))) {
      throw new UnsupportedPattern("backreferences are not supported")
    }
    const escaped =
      /\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|\\u\{[^}]*\}|\\u[\da-fA-F]{4}|\\x..|\\c.|\\[^]/uy
    const text = this.matching(escaped)?.[0]
    if (text === undefined) {
      const literal = String.fromCodePoint(this.source.codePointAt(this.at) ?? 0)
      this.at += literal.length
      return (character) => character === literal
    }
    const one = new RegExp(`^${text}$`, "u")
    return (character) => one.test(character)
  }
}

const parse = (source: string): Node => {
  if (source.length > maxLength) throw new UnsupportedPattern(`it is longer than ${maxLength} characters`)
  return new Parser(source).choice()
}

/** Maximum length of a string to match with a backtracking engine. */
export const longestBacktracked = 1000

/** Maximum number of steps a backtracking engine needs for a string: `factor * length ** degree`. */
export interface Cost {
  readonly factor: number
  readonly degree: number
}

const constant = (factor: number): Cost => ({ factor, degree: 0 })
const endless = constant(Infinity)

export const stepsFor = ({ degree, factor }: Cost, length: number): number => factor * Math.max(1, length) ** degree

/** Infinite if the part can match a repetition in several ways. */
const costOf = (node: Node): Cost => {
  switch (node.type) {
    case "sequence":
      return node.parts.map(costOf).reduce((one, two) => {
        return { factor: one.factor * two.factor, degree: one.degree + two.degree }
      }, constant(1))
    case "choice":
      return node.parts.map(costOf).reduce((one, two) => {
        return { factor: one.factor + two.factor, degree: Math.max(one.degree, two.degree) }
      }, constant(0))
    case "repeat": {
      const { max, min } = node
      const once = costOf(node.part)
      if (once.factor === 1 && once.degree === 0) {
        return max - min < longestBacktracked ? constant(max - min + 1) : { factor: 1, degree: 1 }
      }
      if (max === min) return max === 0 ? constant(1) : { factor: once.factor ** max, degree: once.degree * max }
      return max === 1 ? { factor: once.factor + 1, degree: once.degree } : endless
    }
    case "look":
      return costOf(node.part)
    default:
      return constant(1)
  }
}

/** Returns the cost of searching for the expression with a backtracking engine, or `undefined` if it may take too long. */
export const backtrackingCost = (source: string): Cost | undefined => {
  const { degree, factor } = costOf(parse(source))
  const cost = { factor, degree: /^\^[^|]*$/.test(source) ? degree : degree + 1 }
  return stepsFor(cost, longestBacktracked) <= 10_000_000 ? cost : undefined
}

type Instruction =
  | { readonly type: "character"; readonly test: Test }
  | { readonly type: "fork"; readonly to: Array<number> }
  | { readonly type: "assert"; readonly kind: "^" | "$" | "b" | "B" }
  | { readonly type: "look"; readonly negated: boolean; end: number }
  | { readonly type: "match" }

/** Number of instructions left for the expressions in one schema. */
export interface Room {
  instructions: number
}

const program = (root: Node, room: Room): ReadonlyArray<Instruction> => {
  const out: Array<Instruction> = []
  const put = <A extends Instruction>(instruction: A): A => {
    if (out.length >= maxSize) throw new UnsupportedPattern(`it has more than ${maxSize} steps`)
    if (--room.instructions < 0) throw new UnsupportedPattern("the schema's patterns are too large in total")
    out.push(instruction)
    return instruction
  }
  const fork = (...to: Array<number>) => put({ type: "fork" as const, to })
  const write = (node: Node): void => {
    switch (node.type) {
      case "sequence":
        return node.parts.forEach(write)
      case "choice": {
        const entry = fork()
        const ends = node.parts.map((part) => {
          entry.to.push(out.length)
          write(part)
          return fork()
        })
        return ends.forEach(({ to }) => to.push(out.length))
      }
      case "repeat": {
        const start = out.length
        for (let i = 0; i < node.min; i++) {
          write(node.part)
          if (out.length === start) return
        }
        if (node.max === Infinity) {
          const loop = out.length
          const entry = fork(loop + 1)
          write(node.part)
          fork(loop)
          entry.to.push(out.length)
          return
        }
        const entries: Array<Array<number>> = []
        for (let i = node.min; i < node.max; i++) {
          entries.push(fork(out.length + 1).to)
          write(node.part)
        }
        return entries.forEach((to) => to.push(out.length))
      }
      case "look": {
        const look = put({ type: "look", negated: node.negated, end: 0 })
        write(node.part)
        put({ type: "match" })
        look.end = out.length
        return
      }
      default:
        put(node)
    }
  }
  write(root)
  put({ type: "match" })
  return out
}

/** Number of steps left for the expressions in one validation. */
export interface Budget {
  steps: number
}

const isWord = (character: string | undefined): boolean => character !== undefined && /^\w$/.test(character)

/** Returns true if a string contains a match. Throws once the budget is used up. */
export type Matcher = (text: string, budget: Budget) => boolean

/** Creates a matcher for an expression that is valid with the `u` flag. Throws `UnsupportedPattern`. */
export const matcher = (source: string, room: Room = { instructions: maxSize }): Matcher => {
  const code = program(parse(source), room)
  return (text, budget) => run(code, 0, text, 0, budget)
}

/** Runs the instructions from `start`. A lookahead only tries position `from`; otherwise every later position is tried as well. */
const run = (code: ReadonlyArray<Instruction>, start: number, text: string, from: number, budget: Budget): boolean => {
  budget.steps -= code.length / 8
  const seen = new Float64Array(code.length).fill(-1)
  let current: Array<Test> = []
  let next: Array<number> = []
  let targets: Array<number> = []
  for (let at = from; ;) {
    const character = at < text.length ? String.fromCodePoint(text.codePointAt(at) ?? 0) : undefined
    const before = text.charAt(at - 1)
    const holds = (kind: "^" | "$" | "b" | "B"): boolean => {
      if (kind === "^") return at === 0
      if (kind === "$") return character === undefined
      return (isWord(before) !== isWord(character)) === (kind === "b")
    }
    const pending = start === 0 || at === from ? [...next, start] : [...next]
    current = []
    targets = []
    for (let pc = pending.pop(); pc !== undefined; pc = pending.pop()) {
      if (seen[pc] === at) continue
      seen[pc] = at
      if (--budget.steps < 0) throw new TooManySteps("the text is too long to match against the pattern")
      const instruction = code[pc]
      if (instruction === undefined || instruction.type === "match") return true
      if (instruction.type === "character") {
        current.push(instruction.test)
        targets.push(pc + 1)
      } else if (instruction.type === "fork") pending.push(...instruction.to)
      else if (instruction.type === "assert") {
        if (holds(instruction.kind)) pending.push(pc + 1)
      } else if (run(code, pc + 1, text, at, budget) !== instruction.negated) pending.push(instruction.end)
    }
    if (character === undefined || (start !== 0 && targets.length === 0)) return false
    next = targets.filter((_, index) => current[index]?.(character) === true)
    at += character.length
  }
}
