/**
 * The frontmatter of a `SKILL.md`: YAML between two lines of `---`, as a JSON object.
 *
 * The text is untrusted, so its size and depth are bounded. Everything that parsers read differently or that JSON cannot express is
 * rejected: aliases, numbers such as `.inf`, and the key `__proto__`.
 */
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Yaml from "effect/encoding/Yaml"
import * as Result from "effect/Result"

/** Maximum length of the YAML, in UTF-16 units. The parser needs quadratic time for some texts. */
export const maxLength = 16 * 1024
/** Maximum depth of the value. */
export const maxDepth = 32

/** A `SKILL.md` in two parts. */
export interface SkillMarkdown {
  readonly frontmatter: JsonObject
  /** The Markdown after the frontmatter. */
  readonly body: string
}

/** Matches the YAML and the body. */
const shape = /^\ufeff?---[ \t]*\r?\n([^]*?)(?<=\n)---[ \t]*(?:\r?\n([^]*))?$/

/** Returns a reason if the value cannot be JSON, or refers to the same object twice. */
const problemOf = (value: unknown, depth: number, seen: Set<object>): string | undefined => {
  if (typeof value === "number") return Number.isFinite(value) ? undefined : `it contains the number ${value}`
  if (typeof value !== "object" || value === null) return undefined
  if (depth > maxDepth) return `it is nested more than ${maxDepth} levels deep`
  if (seen.has(value)) return "it contains a YAML alias, which parsers expand differently"
  seen.add(value)
  if (Object.hasOwn(value, "__proto__")) return "it contains the key __proto__"
  for (const item of Object.values(value)) {
    const problem = problemOf(item, depth + 1, seen)
    if (problem !== undefined) return problem
  }
  return undefined
}

/** Splits and parses a `SKILL.md`. Fails with a sentence that says why it cannot be parsed. */
export const parse = (markdown: string): Result.Result<SkillMarkdown, string> => {
  const [, yaml, body = ""] = shape.exec(markdown) ?? []
  if (yaml === undefined) return Result.fail('SKILL.md must begin with YAML frontmatter between two "---" lines')
  if (yaml.length > maxLength) return Result.fail(`The frontmatter is longer than ${maxLength} characters`)
  const parsed = Result.try({
    try: () => Yaml.parse(yaml.replaceAll("\r\n", "\n")),
    // Deep nesting overflows the parser's stack, which is not a syntax error.
    catch: (error) =>
      `The frontmatter is not valid YAML: ${error instanceof SyntaxError ? error.message : "nested too deeply"}`
  })
  return Result.flatMap(parsed, (frontmatter) => {
    if (!isJsonObject(frontmatter)) return Result.fail("The frontmatter is not a mapping of keys to values")
    const problem = problemOf(frontmatter, 0, new Set())
    return problem === undefined
      ? Result.succeed({ frontmatter, body })
      : Result.fail(`The frontmatter is invalid: ${problem}`)
  })
}

const isWithin = (value: unknown, levels: number): boolean =>
  typeof value !== "object" ||
  value === null ||
  (levels > 0 && Object.values(value).every((item) => isWithin(item, levels - 1)))

/** True if a frontmatter is no deeper than `parse` accepts, and not much longer. Its JSON may have up to three times the length of its YAML. */
export const isBounded = (frontmatter: JsonObject): boolean =>
  isWithin(frontmatter, maxDepth + 1) && JSON.stringify(frontmatter).length <= 4 * maxLength

/** True if two JSON values are the same. The order of keys does not matter. */
const isSame = (a: unknown, b: unknown): boolean => {
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, index) => isSame(item, b[index]))
  }
  if (!isJsonObject(a) || !isJsonObject(b)) return a === b
  const keys = Object.keys(a)
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && isSame(a[key], b[key]))
}

/** Returns the JSON text of a value with sorted keys, so that the same values have the same text. */
export const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, item: unknown) =>
    isJsonObject(item) ? Object.fromEntries(Object.entries(item).toSorted(([a], [b]) => (a < b ? -1 : 1))) : item
  )

/** Returns the names of the fields in which two frontmatters differ. */
export const differences = (a: JsonObject, b: JsonObject): ReadonlyArray<string> =>
  [...new Set([...Object.keys(a), ...Object.keys(b)])].filter(
    (key) => !Object.hasOwn(a, key) || !Object.hasOwn(b, key) || !isSame(a[key], b[key])
  )
