/** Text of another party: no character of it steers a terminal or hides, and an excerpt is bounded. */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { beginning, escaped, escapedLines, excerpt, maxLength } from "@effect-mcp/protocol/Excerpt"

/** First and last code point of each range that is not drawn, or that a terminal obeys. */
const hidden: ReadonlyArray<readonly [what: string, first: number, last: number]> = [
  ["C0 controls", 0x00, 0x1f],
  ["DEL and the C1 controls", 0x7f, 0x9f],
  ["the soft hyphen", 0xad, 0xad],
  ["the combining grapheme joiner", 0x34f, 0x34f],
  ["the Arabic letter mark", 0x61c, 0x61c],
  ["fillers of Hangul", 0x115f, 0x1160],
  ["the Mongolian vowel separator", 0x180e, 0x180e],
  ["zero width characters and marks of direction", 0x200b, 0x200f],
  ["separators of lines and bidirectional overrides", 0x2028, 0x202e],
  ["word joiners and bidirectional isolates", 0x2060, 0x206f],
  ["the Hangul filler", 0x3164, 0x3164],
  ["halves of surrogate pairs", 0xd800, 0xdfff],
  ["variation selectors but those of text and emoji", 0xfe00, 0xfe0d],
  ["the byte order mark", 0xfeff, 0xfeff],
  ["interlinear annotations", 0xfff9, 0xfffb],
  ["musical format controls", 0x1d173, 0x1d17a],
  ["tags and their selectors", 0xe0000, 0xe01ef]
]

const from = (first: number, last: number): ReadonlyArray<string> =>
  Array.from({ length: last - first + 1 }, (_, index) => String.fromCodePoint(first + index))

/** The UTF-16 units that an escape of JSON stands for. */
const unescaped = (escape: string): string => {
  const parsed: unknown = JSON.parse(`"${escape}"`)
  return String(parsed)
}

describe("An escaped text", () => {
  it.each(hidden)("An escaped text shows %s as escapes of JSON", (_, first, last) => {
    for (const character of from(first, last)) {
      const shown = escaped(`a${character}b`)
      assert.match(shown, /^a(?:\\u[0-9a-f]{4}){1,2}b$/)
      assert.strictEqual(unescaped(shown), `a${character}b`)
    }
  })

  it("An escaped text keeps letters of any script, and emoji in colour", () => {
    const text = "Å ß 日本 हिन्दी العربية ❤\ufe0f ✔\ufe0e 👍🏽 𝒳"
    assert.strictEqual(escaped(text), text)
  })

  it.prop("An escaped text is the same when it is escaped again", [Schema.String], ([text]) => {
    assert.strictEqual(escaped(escaped(text)), escaped(text))
    assert.strictEqual(escapedLines(escapedLines(text)), escapedLines(text))
  })

  it("An escaped text has one line, unless lines and tabs are kept", () => {
    assert.strictEqual(escaped("a\tb\r\nc"), String.raw`a\u0009b\u000d\u000ac`)
    assert.strictEqual(escapedLines("a\tb\r\nc"), "a\tb\\u000d\nc")
  })

  it.prop("An escaped text of JSON has the value of the JSON", [Schema.String], ([text]) => {
    const json = JSON.stringify({ text: `${text}\u202e\u{e0041}\u009b\u2028` }, undefined, 2)
    assert.deepStrictEqual(JSON.parse(escapedLines(json)), JSON.parse(json))
  })
})

describe("An excerpt", () => {
  it("An excerpt of a short text is the whole text", () => {
    assert.strictEqual(excerpt("x".repeat(maxLength)), "x".repeat(maxLength))
    assert.strictEqual(excerpt("a\u001b[2J", 10), String.raw`a\u001b[2J`)
    assert.strictEqual(excerpt("", 0), "")
  })

  it("An excerpt of a long text is its beginning and dots", () => {
    assert.strictEqual(excerpt("x".repeat(1_000_000)), `${"x".repeat(maxLength)}…`)
    assert.strictEqual(excerpt("abcd", 3), "abc…")
    assert.strictEqual(excerpt("\u0000\u0000", 11), "\\u0000…")
  })

  it("An excerpt never ends in half of a surrogate pair", () => {
    assert.strictEqual(excerpt("a🙂b", 1), "a…")
    assert.strictEqual(excerpt("a🙂b", 2), "a…")
    assert.strictEqual(excerpt("a🙂b", 3), "a🙂…")
  })

  it("An excerpt counts an escape by its length, and shows the escape whole or not at all", () => {
    assert.strictEqual(excerpt("\n".repeat(maxLength)), `${"\\u000a".repeat(33)}…`)
    assert.strictEqual(excerpt("a\u{e0041}", 12), "a…")
    assert.strictEqual(excerpt("a\u{e0041}", 13), String.raw`a\udb40\udc41`)
  })

  it.prop(
    "An excerpt is within its limit, and an excerpt of the excerpt is the same",
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

describe("The beginning of a text", () => {
  it("The beginning of a text is the text unchanged up to the limit, and ends in no half of a surrogate pair", () => {
    assert.strictEqual(beginning("a\n\u200c🙂"), "a\n\u200c🙂")
    assert.strictEqual(beginning("a\n🙂b", 2), "a\n…")
    assert.strictEqual(beginning("a\n🙂b", 3), "a\n…")
    assert.strictEqual(beginning("a\n🙂b", 4), "a\n🙂…")
  })
})
