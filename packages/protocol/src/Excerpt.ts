/**
 * Makes text from another party safe to show in an error, a log line or a terminal.
 *
 * Escapes characters that control a terminal or are invisible: control and format characters (C0, C1, bidirectional, zero width, tags),
 * U+2028 and U+2029, invisible letters, variation selectors and lone surrogates. Each becomes its JSON escape, so no information is lost
 * and escaping twice has no further effect. The text's meaning is not checked.
 */

/** Default limit for `excerpt`, in UTF-16 units. */
export const maxLength = 200

const unseen = String.raw`[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]`
// Variation selectors for text and emoji are kept, because they follow a visible character.
const inLine = new RegExp(`(?![\u{fe0e}\u{fe0f}])${unseen}`, "gu")
const inLines = new RegExp(`(?![\\t\\n\u{fe0e}\u{fe0f}])${unseen}`, "gu")

const escapeOf = (character: string): string =>
  character.replaceAll(/[^]/g, (half) => `\\u${half.charCodeAt(0).toString(16).padStart(4, "0")}`)

/** Returns the text on one line, with each invisible character as `\uXXXX`. Characters beyond U+FFFF become two escapes. */
export const escaped = (text: string): string => text.replace(inLine, escapeOf)

/** Same as `escaped` for multi-line text: keeps tabs and line feeds. Escaped JSON still has the same value. */
export const escapedLines = (text: string): string => text.replace(inLines, escapeOf)

/**
 * A complete terminal escape sequence: CSI, a command string such as a link or a title, or a short sequence. Each part
 * ends where the next one starts.
 */
const sequence = String.raw`(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x80-\x9f]*(?:\x07|\x1b\\|\x9c)|\x1b[ -/]*[0-~]`
/**
 * Control characters, lone surrogates, and characters that only hide text. Joiners and marks that scripts and emoji
 * need are kept.
 */
const hiding = String.raw`(?![\t\n])[\p{Cc}\p{Cs}\u200b\u202a-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e0fff}]`
const removed = new RegExp(`${sequence}|\r(?=\n)|${hiding}`, "gu")

/**
 * Removes terminal escape sequences, control characters except tabs and line feeds, and characters that hide text: zero width spaces,
 * bidirectional overrides and tags. CRLF becomes LF. For text that a model reads; to show what was there, use `escapedLines`. The text's
 * meaning is not checked.
 */
export const cleaned = (text: string): string => text.replace(removed, "")

/**
 * Truncates the text without escaping it. Adds "…" if anything was cut off. `limit` is in UTF-16 units; surrogate pairs are never split.
 */
export const beginning = (text: string, limit: number = maxLength): string => {
  if (text.length <= limit) return text
  const last = text.charCodeAt(limit - 1)
  return `${text.slice(0, last >= 0xd800 && last < 0xdc00 ? limit - 1 : limit)}…`
}

/**
 * Truncates and escapes the text. Adds "…" if anything was cut off. `limit` is in UTF-16 units and applies to the escaped text. A character
 * is either shown completely or left out. Applying it twice with the same limit has no further effect.
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

/** Removes the parts of a URI that may contain secrets: username and password, query and fragment. */
export const withoutSecrets = (uri: string): string =>
  uri.replace(/[?#][^]*$/, "").replace(/^([\w+.-]+:[/\\]{2})[^/\\]*@/, "$1")
