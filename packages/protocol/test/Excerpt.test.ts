/** Text from another party: it cannot control a terminal or hide characters, and excerpts are bounded. */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { beginning, cleaned, escaped, escapedLines, excerpt, maxLength } from "@effect-mcp/protocol/Excerpt"

/** First and last code point of each range that is invisible or controls a terminal. */
const hidden: ReadonlyArray<readonly [what: string, first: number, last: number]> = [
  ["C0 controls", 0x00, 0x1f],
  ["DEL and the C1 controls", 0x7f, 0x9f],
  ["the soft hyphen", 0xad, 0xad],
  ["the combining grapheme joiner", 0x34f, 0x34f],
  ["the Arabic letter mark", 0x61c, 0x61c],
  ["Hangul fillers", 0x115f, 0x1160],
  ["the Mongolian vowel separator", 0x180e, 0x180e],
  ["zero-width characters and direction marks", 0x200b, 0x200f],
  ["line separators and bidirectional overrides", 0x2028, 0x202e],
  ["word joiners and bidirectional isolates", 0x2060, 0x206f],
  ["the Hangul filler", 0x3164, 0x3164],
  ["lone surrogates", 0xd800, 0xdfff],
  ["variation selectors except for text and emoji", 0xfe00, 0xfe0d],
  ["the byte order mark", 0xfeff, 0xfeff],
  ["interlinear annotations", 0xfff9, 0xfffb],
  ["musical format controls", 0x1d173, 0x1d17a],
  ["tags and their selectors", 0xe0000, 0xe01ef]
]

const from = (first: number, last: number): ReadonlyArray<string> =>
  Array.from({ length: last - first + 1 }, (_, index) => String.fromCodePoint(first + index))

/** The UTF-16 units that a JSON escape represents. */
const unescaped = (escape: string): string => {
  const parsed: unknown = JSON.parse(`"${escape}"`)
  return String(parsed)
}

describe("Text escaping", () => {
  it.each(hidden)("Escaping shows %s as JSON escapes", (_, first, last) => {
    for (const character of from(first, last)) {
      const shown = escaped(`a${character}b`)
      assert.match(shown, /^a(?:\\u[0-9a-f]{4}){1,2}b$/)
      assert.strictEqual(unescaped(shown), `a${character}b`)
    }
  })

  it("Letters in any script and color emoji are kept", () => {
    const text = "Å ß 日本 हिन्दी العربية ❤\ufe0f ✔\ufe0e 👍🏽 𝒳"
    assert.strictEqual(escaped(text), text)
  })

  it.prop("Escaping is idempotent", [Schema.String], ([text]) => {
    assert.strictEqual(escaped(escaped(text)), escaped(text))
    assert.strictEqual(escapedLines(escapedLines(text)), escapedLines(text))
  })

  it("Escaped text is one line unless line breaks and tabs are kept", () => {
    assert.strictEqual(escaped("a\tb\r\nc"), String.raw`a\u0009b\u000d\u000ac`)
    assert.strictEqual(escapedLines("a\tb\r\nc"), "a\tb\\u000d\nc")
  })

  it.prop("Escaped JSON text decodes to the same value", [Schema.String], ([text]) => {
    const json = JSON.stringify({ text: `${text}\u202e\u{e0041}\u009b\u2028` }, undefined, 2)
    assert.deepStrictEqual(JSON.parse(escapedLines(json)), JSON.parse(json))
  })
})

describe("Excerpts", () => {
  it("An excerpt of short text is the whole text", () => {
    assert.strictEqual(excerpt("x".repeat(maxLength)), "x".repeat(maxLength))
    assert.strictEqual(excerpt("a\u001b[2J", 10), String.raw`a\u001b[2J`)
    assert.strictEqual(excerpt("", 0), "")
  })

  it("An excerpt of long text is its beginning and an ellipsis", () => {
    assert.strictEqual(excerpt("x".repeat(1_000_000)), `${"x".repeat(maxLength)}…`)
    assert.strictEqual(excerpt("abcd", 3), "abc…")
    assert.strictEqual(excerpt("\u0000\u0000", 11), "\\u0000…")
  })

  it("An excerpt never ends with half of a surrogate pair", () => {
    assert.strictEqual(excerpt("a🙂b", 1), "a…")
    assert.strictEqual(excerpt("a🙂b", 2), "a…")
    assert.strictEqual(excerpt("a🙂b", 3), "a🙂…")
  })

  it("An excerpt counts every character of an escape and never splits it", () => {
    assert.strictEqual(excerpt("\n".repeat(maxLength)), `${"\\u000a".repeat(33)}…`)
    assert.strictEqual(excerpt("a\u{e0041}", 12), "a…")
    assert.strictEqual(excerpt("a\u{e0041}", 13), String.raw`a\udb40\udc41`)
  })

  it.prop(
    "An excerpt stays within its limit and is its own excerpt",
    [Schema.String, Schema.Literals([0, 1, 5, 6, 7, 20])],
    ([text, limit]) => {
      for (const long of [text, `${text}\n\u{e0041}🙂${text}`]) {
        const once = excerpt(long, limit)
        assert.isAtMost(once.length, limit + 1)
        assert.strictEqual(excerpt(once, limit), once)
      }
    }
  )
})

describe("Text prefixes", () => {
  it("A prefix is unchanged up to the limit and never splits a surrogate pair", () => {
    assert.strictEqual(beginning("a\n\u200c🙂"), "a\n\u200c🙂")
    assert.strictEqual(beginning("a\n🙂b", 2), "a\n…")
    assert.strictEqual(beginning("a\n🙂b", 3), "a\n…")
    assert.strictEqual(beginning("a\n🙂b", 4), "a\n🙂…")
  })
})

describe("Cleaned text", () => {
  it.each([
    ["a colour", "\u001b[1;31mred\u001b[0m", "red"],
    ["a colour by C1", "\u009b31mred", "red"],
    ["a move of the cursor", "a\u001b[2K\u001b[1Ab", "ab"],
    ["a title", "\u001b]0;owned\u0007a", "a"],
    ["a link", "\u001b]8;;https://example.com\u001b\\a\u001b]8;;\u001b\\", "a"],
    ["the clipboard", "\u009d52;c;AAAA\u009ca", "a"],
    ["a reset", "\u001bca", "a"],
    ["an unfinished string", "\u001b]0;a", "0;a"],
    ["an escape at the end", "a\u001b", "a"],
    ["controls", "a\u0000\b\u007fb\u0085c", "abc"],
    ["CRLF", "a\r\nb\rc", "a\nbc"],
    ["tags", "a\u{e0001}\u{e0068}\u{e0069}", "a"],
    ["bidirectional overrides", "a\u202eb\u2066c", "abc"],
    ["zero width spaces", "a\u200bb\ufeffc\u2060d", "abcd"],
    ["lone surrogates", "a\ud800b", "ab"]
  ])("A cleaned text has no trace of %s", (_, text, expected) => {
    assert.strictEqual(cleaned(text), expected)
  })

  it("Cleaned text keeps letters in any script, emoji, tabs and line feeds", () => {
    const text = "Å ß\t日本\nहिन्दी می\u200cخواهم 👨\u200d👩\u200d👧 ❤\ufe0f"
    assert.strictEqual(cleaned(text), text)
  })

  it.prop("Cleaned text never contains escape sequences, whatever the input", [Schema.String], ([text]) => {
    const escapes = cleaned(`${text}\u001b[${text}\u001b]${text}`)
    // oxlint-disable-next-line no-control-regex -- what must be gone
    assert.notMatch(escapes, /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/)
  })
})
