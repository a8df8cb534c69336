/** A recorded terminal: the rows that a command printed, and when. */

/** From `at` milliseconds on, `row` shows `text`, with its colours as escape sequences. A progress bar changes its row many times. */
export interface Step {
  readonly at: number
  readonly row: number
  readonly text: string
}

export interface Recording {
  readonly command: string
  readonly steps: ReadonlyArray<Step>
}

/** Returns the rows at a time. Rows that are printed later are empty, so that the screen keeps its height. */
export const screenAt = (steps: ReadonlyArray<Step>, time: number): ReadonlyArray<string> => {
  const rows = Array.from({ length: Math.max(0, ...steps.map(({ row }) => row + 1)) }, () => "")
  for (const { at, row, text } of steps) if (at <= time) rows[row] = text
  return rows
}

export interface Span {
  readonly text: string
  /** Number of the colour or style, as in the escape sequence. Zero is ordinary text. */
  readonly style: number
}

// oxlint-disable-next-line no-control-regex -- a colour begins with the escape character
const colour = /\u001b\[(\d+)m/

// oxlint-disable-next-line no-control-regex -- as above
const part = /\r*\n|\r|\u001b\[[\d;?]*[A-Za-z]|[^\r\n\u001b]+/g

// oxlint-disable-next-line no-control-regex -- as above; the rest of these has not arrived yet
const incomplete = /(?:\r|\u001b\[?[\d;?]*)$/

/** Splits a row at its escape sequences. */
export const spans = (row: string): ReadonlyArray<Span> =>
  row
    .split(colour)
    .map((part, index, parts) => ({ text: part, style: index % 2 === 0 ? Number(parts[index - 1] ?? 0) : 0, index }))
    .filter(({ index, text }) => index % 2 === 0 && text !== "")
    .map(({ style, text }) => ({ text, style }))

/** Redrawing a row within this time, in milliseconds, is not recorded. */
const interval = 80

/** Follows the output of a terminal, of which it knows line ends, redrawn rows and colours. */
export const recorder = () => {
  const steps: Array<Step> = []
  let row = 0
  let text = ""
  let drawn = 0
  let shown = -interval
  let rest = ""
  const show = (at: number): void => {
    steps.push({ at, row, text })
    shown = at
  }
  /** Adds output that was printed at a time. */
  const add = (output: string, at: number): void => {
    const all = rest + output
    rest = incomplete.exec(all)?.[0] ?? ""
    for (const [found] of all.slice(0, all.length - rest.length).matchAll(part)) {
      if (found.endsWith("\n")) {
        if (text !== "") show(at)
        row += 1
        text = ""
      } else if (found === "\r") {
        if (text !== "" && drawn - shown >= interval) show(drawn)
        text = ""
      } else if (!found.startsWith("\u001b") || found.endsWith("m")) {
        text += found
        drawn = at
      }
    }
  }
  return { add, steps }
}
