/**
 * Colours, and the taming of text that strangers wrote.
 *
 * A server chooses its names, descriptions and results; on a terminal they must not be able to move the cursor, rewrite what was
 * printed or set the clipboard. Text that goes to a file or a pipe is left as it is.
 */

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

/** Control characters (C0 but tab and newline, DEL, C1) and the marks that reorder text. */
// oxlint-disable-next-line no-control-regex -- these are what this is about
const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`

/** Text of several lines that is safe to show: control characters become visible. CRLF is a newline. */
export const safe = (text: string): string => text.replaceAll("\r\n", "\n").replace(controls, escaped)

/** The same on one line, for names and cells. */
export const safeLine = (text: string): string =>
  safe(
    text
      .trim()
      .replace(/\s*[\r\n]+\s*/g, " ")
      .replaceAll("\t", " ")
  )
