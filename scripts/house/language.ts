/** Language of comments, titles of tests and documents: sentences that read like a translation, and the length of documents. */
import { basename } from "node:path"
import type { Finding, Module } from "./Module.ts"

/** Grammar that a native speaker would not write; each alternative is one habit. */
const translated = new RegExp(
  [
    // "if" said as "where"
    /\b(?:undefined|null|false|none|nothing) where\b/,
    /, where (?:there|it|the|no|a)\b/,
    // a clause with "what" in place of a noun
    /\bwhat (?:it|the|a|he|they) [a-z]+s?\b/,
    // pronoun puzzles
    /\b(?:those|that) of\b/,
    /\bof its own\b/,
    // docstrings that begin without a verb or a noun
    /^(?:\s|\*)*(?:Whether(?! to\b)|What|Of|As|That|Those|None)\b/,
    /\bin vain\b/,
    /\banew\b/,
    /\bgives (?:the|a|back)\b/
  ]
    .map(({ source }) => source)
    .join("|"),
  "gi"
)

/** Counts the phrases of a text that read like a translation. */
export const translations = (text: string): number => text.match(translated)?.length ?? 0

/** The text of a document outside its code. */
const prose = (text: string): string => text.replace(/^( *)(`{3,})[\s\S]*?^\1\2$/gm, "").replace(/`[^`\n]*`/g, "code")

/** Counts them in the comments and titles of a module. */
export const inModule = ({ comments, titles }: Module): number =>
  [...comments, ...titles].reduce((sum, { value }) => sum + translations(value), 0)

/** Counts them in a document, outside its code. */
export const inDocument = (text: string): number =>
  prose(text)
    .split("\n")
    .reduce((sum, line) => sum + translations(line), 0)

/** Minimum and maximum number of lines of documents by name, and their content. */
const lineLimits: Readonly<Record<string, readonly [least: number, most: number, content: string]>> = {
  "README.md": [
    10,
    70,
    "what the package is, one example, main exports and links; the rest belongs on packages/docs/pages"
  ],
  "ARCHITECTURE.md": [
    150,
    250,
    "what a reader needs that changes the code first; the rest belongs in headers of modules"
  ]
}
export const lengths = (file: string, text: string): ReadonlyArray<Finding> => {
  const limits = lineLimits[basename(file)]
  if (limits === undefined) return []
  const [least, most, content] = limits
  const count = text.trimEnd().split("\n").length
  if (count >= least && count <= most) return []
  return [{ rule: "lengths", file, line: 1, text: `${count} lines; ${least} to ${most} were expected: ${content}` }]
}
