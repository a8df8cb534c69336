/**
 * Colours, and escapes for text that a server wrote.
 *
 * A server chooses its names, descriptions and results. On a terminal they must not move the cursor, rewrite what is printed, set the
 * clipboard or hide what they say. `safe` is for every text of a server; `Output` applies it once more to all that it writes to a
 * terminal. Text that goes to a file or a pipe is left as it is.
 */
import { escapedLines } from "@effect-mcp/protocol/Excerpt"

/** How to emphasise. Without colours every function is the identity. */
export interface Style {
  readonly colours: boolean
  readonly bold: (text: string) => string
  readonly dim: (text: string) => string
  readonly red: (text: string) => string
  readonly green: (text: string) => string
  readonly yellow: (text: string) => string
  readonly cyan: (text: string) => string
}

const identity = (text: string): string => text
const sgr =
  (on: number, off: number) =>
  (text: string): string =>
    text === "" ? "" : `\u001b[${on}m${text}\u001b[${off}m`

export const plain: Style = {
  colours: false,
  bold: identity,
  dim: identity,
  red: identity,
  green: identity,
  yellow: identity,
  cyan: identity
}

export const coloured: Style = {
  colours: true,
  bold: sgr(1, 22),
  dim: sgr(2, 22),
  red: sgr(31, 39),
  green: sgr(32, 39),
  yellow: sgr(33, 39),
  cyan: sgr(36, 39)
}

/** Colours on a terminal, unless NO_COLOR (any value) or TERM=dumb; FORCE_COLOR (but 0) also elsewhere. */
export const detect = (env: { readonly [name: string]: string | undefined }, isTerminal: boolean): Style => {
  const { FORCE_COLOR, NO_COLOR, TERM } = env
  if ((NO_COLOR !== undefined && NO_COLOR !== "") || TERM === "dumb") return plain
  const forced = FORCE_COLOR !== undefined && FORCE_COLOR !== "" && FORCE_COLOR !== "0" && FORCE_COLOR !== "false"
  return forced || isTerminal ? coloured : plain
}

/** Text of several lines that is safe to show: what could not be seen becomes a visible escape. CRLF is a newline. */
export const safe = (text: string): string => escapedLines(text.replaceAll("\r\n", "\n"))

/** The same on one line, for names and cells. */
export const safeLine = (text: string): string =>
  safe(text)
    .trim()
    .replace(/\s*\n\s*/g, " ")
    .replaceAll("\t", " ")

/** JSON with the same characters escaped as JSON has it: the value stays what it is. */
export const safeJson = (json: string): string => escapedLines(json)

/** The colours of `Style` and of the help. */
// oxlint-disable-next-line no-control-regex -- a colour begins with the escape character
const colour = /(\u001b\[(?:[0-2]|22|3[1-69])m)/

/** Whole lines on their way to a terminal: `safe` once more, save for this program's own colours. */
export const safeOutput = (text: string, colours: boolean): string =>
  colours
    ? text
        .split(colour)
        .map((part, index) => (index % 2 === 1 ? part : escapedLines(part)))
        .join("")
    : escapedLines(text)
