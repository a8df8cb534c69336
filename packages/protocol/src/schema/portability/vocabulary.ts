/** Vocabulary and limits shared by the rules and the projection. */

/** Maximum length of a tool's description that every provider accepts. */
export const maxDescription = 1024

/** True for names that every host accepts. */
export const isToolName = (name: string): boolean => /^[A-Za-z0-9_-]{1,64}$/.test(name)

/** True for names of top-level properties that every provider accepts. */
export const isPropertyName = (name: string): boolean => /^[A-Za-z0-9_.-]{1,64}$/.test(name)

/** Keywords that Gemini's function declarations do not have and that are not covered by other rules. */
export const geminiUnknown: ReadonlyArray<string> =
  "$schema $id $comment $anchor multipleOf uniqueItems propertyNames patternProperties contains minContains maxContains unevaluatedProperties unevaluatedItems additionalItems contentEncoding contentMediaType contentSchema discriminator".split(
    " "
  )

/** String and number formats that Gemini supports. */
export const geminiFormats: ReadonlySet<string> = new Set(["date-time", "enum", "float", "double", "int32", "int64"])

/** True for patterns with lookaround, backreferences or named groups, which not every engine supports. */
export const hasLookaround = (pattern: string): boolean =>
  /\(\?[=!<]|\\[1-9]|\\k</.test(pattern.replaceAll(/\\\\/g, ""))
