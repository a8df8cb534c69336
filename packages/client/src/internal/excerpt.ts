/** Text of another party in an error of this library: on one line, bounded, and with nothing that steers a terminal. */

// Control characters, soft hyphen, zero width, directions, line separators, tag characters, and halves of a surrogate pair.
const unprintable =
  // oxlint-disable-next-line no-control-regex -- control characters are exactly what must not reach a terminal
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\u{e0000}-\u{e007f}]/gu

/** Every such character as its escape. Escaping twice changes nothing. */
export const escaped = (text: string): string =>
  text.replaceAll(unprintable, (char) => {
    const code = char.codePointAt(0)?.toString(16) ?? ""
    return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, "0")}`
  })

/** At most `limit` characters of its beginning, escaped; what is left out shows as dots. */
export const excerpt = (text: string, limit: number): string =>
  text.length > limit ? `${escaped(text.slice(0, limit))}...` : escaped(text)
