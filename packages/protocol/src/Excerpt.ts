/**
 * Text of another party, as an error, a log line or a terminal may show it.
 *
 * Owns the characters that steer a terminal or are not drawn: control and format characters (C0, C1, bidirectional, zero width, tags),
 * U+2028 and U+2029, invisible letters, variation selectors and halves of a surrogate pair. Each is shown as its escape in JSON, so the
 * text stays exact and a second pass changes nothing. Refuses to judge what the text means.
 */

/** The default limit of `excerpt`, in UTF-16 units. */
export const maxLength = 200

const unseen = String.raw`[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]`
// The selectors of text and of emoji follow a character that is drawn.
const inLine = new RegExp(`(?![\u{fe0e}\u{fe0f}])${unseen}`, "gu")
const inLines = new RegExp(`(?![\\t\\n\u{fe0e}\u{fe0f}])${unseen}`, "gu")

const escapeOf = (character: string): string =>
  character.replaceAll(/[^]/g, (half) => `\\u${half.charCodeAt(0).toString(16).padStart(4, "0")}`)

/** The text on one line: each character that is not drawn as `\uXXXX`, those beyond U+FFFF as two. */
export const escaped = (text: string): string => text.replace(inLine, escapeOf)

/** The same for text of several lines: tabs and line feeds stay. A JSON text keeps its value. */
export const escapedLines = (text: string): string => text.replace(inLines, escapeOf)

/** The beginning of the text as data, with nothing escaped; "…" stands for the rest. `limit` counts UTF-16 units, and cuts no pair in two. */
export const beginning = (text: string, limit: number = maxLength): string => {
  if (text.length <= limit) return text
  const last = text.charCodeAt(limit - 1)
  return `${text.slice(0, last >= 0xd800 && last < 0xdc00 ? limit - 1 : limit)}…`
}

/**
 * The beginning of the text, `escaped`; "…" stands for the rest. `limit` counts UTF-16 units of what is shown, so a character counts as
 * long as its escape, and is shown whole or not at all. A second pass with the same limit changes nothing.
 */
export const excerpt = (text: string, limit: number = maxLength): string => {
  if (text.length <= limit) {
    const whole = escaped(text)
    if (whole.length <= limit) return whole
  }
  let shown = ""
  for (const character of text) {
    const next = shown + escaped(character)
    if (next.length > limit) break
    shown = next
  }
  return `${shown}…`
}

/** A URI without the parts that may hold a secret: user and password, query and fragment. */
export const withoutSecrets = (uri: string): string =>
  uri.replace(/[?#][^]*$/, "").replace(/^([\w+.-]+:[/\\]{2})[^/\\]*@/, "$1")
