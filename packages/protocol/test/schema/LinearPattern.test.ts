import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Effect, Schema } from "effect"
import { backtrackingCost, matcher, UnsupportedPattern } from "../../src/schema/LinearPattern.ts"

const found = (source: string, text: string) => matcher(source)(text, { steps: 1_000_000 })

/** Expressions built from a few parts, which JavaScript's engine can run on short texts. */
const sourceOf = (numbers: ReadonlyArray<number>): string => {
  const parts = [
    "a",
    "b",
    ".",
    "[^a]",
    "\\w",
    "\\W",
    "\\b",
    "\\B",
    "^",
    "$",
    "(?:a|)",
    "(?=a)",
    "(?!b)",
    "\\u{1f600}",
    "😀"
  ]
  const repeats = ["", "", "*", "+", "?", "{2}", "{1,3}", "{2,}", "*?"]
  let source = ""
  for (const n of numbers) {
    const part = parts[n % parts.length]!
    const repeat = /^(?:\\[bB]|\^|\$|\(\?[=!].*)$/.test(part) ? "" : repeats[Math.floor(n / 16) % repeats.length]!
    source += part + repeat
    if (n % 7 === 0) source = `(${source})${repeats[Math.floor(n / 256) % repeats.length]!}`
    if (n % 11 === 0) source = `${source}|`
  }
  return source
}
const Numbers = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 65_535 })))

describe("LinearPattern", () => {
  it.effect("LinearPattern finds the same matches as JavaScript with the u flag", () =>
    Arbitrary.checkEffect(
      Arbitrary.all([Arbitrary.schema(Numbers), Arbitrary.schema(Numbers)]),
      ([pattern, letters]) => {
        const source = sourceOf(pattern.slice(0, 5))
        const text = letters
          .slice(0, 8)
          .map((n) => ["a", "b", "😀", " ", "\n", "é"][n % 6])
          .join("")
        return Effect.sync(() => found(source, text) === new RegExp(source, "u").test(text))
      },
      { runs: 3000, seed: 11 }
    )
  )

  const cases: ReadonlyArray<readonly [source: string, ...texts: ReadonlyArray<string>]> = [
    ["^[a-z0-9]+(?:-[a-z0-9]+)*$", "a-b-c", "a--b", "-"],
    ["^(?<year>\\d{4})-(?:0[1-9]|1[0-2])$", "2026-11", "2026-13"],
    ["^(?=.*\\d)(?=.*[A-Z]).{8,}$", "Passw0rdd", "password", "P1"],
    ["^\\p{Lu}\\P{L}$", "A1", "aa"],
    ["^[\\]\\-\\u{61}]+\\/\\x41\\ud83d\\ude00\\t$", "]-a/A😀\t", "]/A"],
    ["", "", "a"],
    ["(a*)*b", "aab", "aa"],
    ["^(?:){1000000000}a{0}$", "", "a"],
    ["^[^]$", "\n", "ab"]
  ]
  for (const [source, ...texts] of cases) {
    it(`LinearPattern matches ${JSON.stringify(source)} like JavaScript`, () => {
      for (const text of texts) assert.strictEqual(found(source, text), new RegExp(source, "u").test(text), text)
    })
  }

  it("LinearPattern rejects lookbehind, backreferences, deep groups and large repetitions", () => {
    const sources = ["(?<=a)b", "(a)\\1", "(?<n>a)\\k<n>", "(?:a{1000}){1000}", "(".repeat(200) + ")".repeat(200)]
    for (const source of sources) assert.throws(() => matcher(source), UnsupportedPattern, undefined, source)
  })

  it("LinearPattern uses a backtracking engine only for expressions that finish quickly", () => {
    for (const source of ["^x-", "^[a-z]+$", ".*", "^(?:a|b)_\\w*$"]) assert.isDefined(backtrackingCost(source), source)
    for (const source of ["^(a+)+$", "^(a|a)*$", "(?:a|aa){40}", "a*a*a*", "^(?:a?){40}$", "^a|b*b*$"]) {
      assert.isUndefined(backtrackingCost(source), source)
    }
  })
})
