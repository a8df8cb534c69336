/** Comments, titles of tests and documents: plain words, short sentences, short documents. */
import { basename } from "node:path"
import { type Finding, lineOf, type Module } from "./Module.ts"

/** Words that stand for a program as if it were a person, and phrases that have to be decoded. */
const riddles =
  /\b(?:who|whoever|whom|nobody|somebody|someone|something|anybody|anyone|everybody|everyone)\b|\bTold of\b|\bof ours\b|\bnothing of it\b|\bas it came\b|\bin words\b|\bcomes to\b|\bgoes on\b/i

const plain =
  (rule: "comments" | "titles") =>
  (module: Module): ReadonlyArray<Finding> =>
    module[rule].flatMap(({ start, value }) => {
      const found = riddles.exec(value)
      if (found === null) return []
      const line = lineOf(module.text, start + (rule === "comments" ? found.index : 0))
      const place = rule === "comments" ? "a comment" : "a title"
      return [
        {
          rule,
          file: module.file,
          line,
          text: `"${found[0]}" in ${place}; name the part of the code or of the specification`
        }
      ]
    })

export const comments = plain("comments")
/** How the title of a test begins: like a sentence, with a value, or with a name of code, a file or a command. */
const beginning =
  /^(?:$|[\sA-Z0-9"'`$%([{<]|(?:[a-z]+[A-Z]\w*|[\w-]+[./_][\w./-]*|--?\w[\w-]*|initialize|stdin|stdout|stderr|ping|npm|npx|node:)(?=[\s,:]|$))/

/** The title of a test is read alone where it fails: it names its subject, though the group around it does, too. */
const alone = ({ file, text, titles }: Module): ReadonlyArray<Finding> =>
  titles
    .filter(({ isGroup, value }) => !isGroup && !beginning.test(value.replace(/^\\/, "")))
    .map(({ start, value }) => ({
      rule: "titles",
      file,
      line: lineOf(text, start),
      text: `"${value.slice(0, 40)}" begins in the middle of a sentence; begin with its subject`
    }))

const plainTitles = plain("titles")

export const titles = (module: Module): ReadonlyArray<Finding> => [...plainTitles(module), ...alone(module)]

/** What a document says outside of code, with its lines. */
const prose = (text: string): string =>
  text
    .replace(/^( *)(`{3,})[\s\S]*?^\1\2$/gm, (block) => block.replace(/[^\n]/g, " "))
    .replace(/`[^`\n]*`/g, (code) => " ".repeat(code.length))

export const documents = (file: string, text: string): ReadonlyArray<Finding> =>
  [...prose(text).matchAll(new RegExp(riddles, "gi"))].map(({ 0: word, index }) => ({
    rule: "documents",
    file,
    line: lineOf(text, index),
    text: `"${word}" in a document; name the part of the code or of the specification`
  }))

/** The least and most lines of documents by their name, and what they hold. */
const lineLimits: Readonly<Record<string, readonly [least: number, most: number, content: string]>> = {
  "README.md": [
    10,
    60,
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

/** The most words of a sentence; a colon and a semicolon end one, and code is one word. */
const mostWords = 25

export const sentences = ({ comments, file, text, titles }: Module): ReadonlyArray<Finding> =>
  [...comments, ...titles].flatMap(({ start, value }) =>
    value
      .replace(/^ *\* *```[\s\S]*?```/gm, "")
      .replace(/^\s*\*+ ?/gm, "")
      // Paragraphs, rows of lists and tables, drawings.
      .split(/\n\s*(?=\n|[-|] )|\n.*[\u2500-\u257f\u25ba\u25c4].*/)
      .flatMap((paragraph) => paragraph.replace(/`[^`]*`/g, "code").split(/[.:;!?]\s+|\s@\w+/))
      .flatMap((sentence) => {
        const words = sentence.split(/\s+/).filter((word) => /\w/.test(word))
        if (words.length <= mostWords) return []
        const begin = words.slice(0, 4).join(" ")
        const long = `A sentence of ${words.length} words ("${begin} ..."); at most ${mostWords}: say it in two`
        return [{ rule: "sentences" as const, file, line: lineOf(text, start), text: long }]
      })
  )
