/**
 * Colors, and escapes for text from servers.
 *
 * A server chooses its names, descriptions and results. On a terminal, these texts must not move the cursor, overwrite other output, set
 * the clipboard or hide parts of themselves. Use `safe` for all text from a server. `Output` applies it again to everything it writes to a
 * terminal. Text for a file or a pipe stays unchanged.
 */
import { escapedLines } from "@effect-mcp/protocol/Excerpt"

/** Functions that highlight text. Without colors they return it unchanged. */
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

/** Uses colors on a terminal, unless NO_COLOR is set or TERM is `dumb`. FORCE_COLOR (except 0) enables them everywhere. */
export const detect = (env: { readonly [name: string]: string | undefined }, isTerminal: boolean): Style => {
  const { FORCE_COLOR, NO_COLOR, TERM } = env
  if ((NO_COLOR !== undefined && NO_COLOR !== "") || TERM === "dumb") return plain
  const forced = FORCE_COLOR !== undefined && FORCE_COLOR !== "" && FORCE_COLOR !== "0" && FORCE_COLOR !== "false"
  return forced || isTerminal ? coloured : plain
}

/** Makes multi-line text safe to show by escaping invisible characters. CRLF becomes a newline. */
export const safe = (text: string): string => escapedLines(text.replaceAll("\r\n", "\n"))

/** Like `safe`, but for a single line, such as a name or a table cell. */
export const safeLine = (text: string): string =>
  safe(text)
    .trim()
    .replace(/\s*\n\s*/g, " ")
    .replaceAll("\t", " ")

/** Like `safe`, but uses JSON escapes, which keep the value. */
export const safeJson = (json: string): string => escapedLines(json)

/** Matches the colors that `Style` and the help use. */
// oxlint-disable-next-line no-control-regex -- a colour begins with the escape character
const colour = /(\u001b\[(?:[0-2]|22|3[1-69])m)/

/** Applies `safe` to complete lines for a terminal, except for this program's colors. */
export const safeOutput = (text: string, colours: boolean): string =>
  colours
    ? text
        .split(colour)
        .map((part, index) => (index % 2 === 1 ? part : escapedLines(part)))
        .join("")
    : escapedLines(text)
