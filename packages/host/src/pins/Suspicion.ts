/**
 * Finds text in a server's declarations that is meant to steer a model without the user noticing.
 *
 * These are heuristics. They find known attacks (invisible characters, encoded payloads, orders hidden in descriptions, look-alike names), and
 * a determined server can avoid them. Text in languages other than English is only checked for characters and encodings.
 */
import { excerpt } from "@effect-mcp/protocol/Excerpt"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"

/** The kind of a suspicion. */
export type SuspicionCode = "encoded" | "invisible" | "steers"

/** A suspicious text, with its location as a JSON Pointer. */
export interface Suspicion {
  readonly code: SuspicionCode
  readonly path: string
  readonly message: string
}

/** Maximum length of a text to check, in UTF-16 units. Longer texts count as suspicious. */
const maxText = 65_536
/** Maximum number of texts to check in a declaration. */
const maxTexts = 10_000

// Parts of emoji, and joiners in scripts that need them, are invisible but ordinary.
const ordinary = new RegExp(
  String.raw`\p{Extended_Pictographic}(?:\u{fe0f}|\p{Emoji_Modifier}){0,2}(?:\u200d\p{Extended_Pictographic}(?:\u{fe0f}|\p{Emoji_Modifier}){0,2}){1,8}|(?<=[\p{L}--[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}]])(?:\u200c|\u200d)(?=\p{L})`,
  "gv"
)

const unseen = /(?!\t|\n|\r|\u{fe0e}|\u{fe0f})[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u

const printable = /^[\t\n\r\x20-\x7e]+$/

const bytesOf = (base64: string): string | undefined => {
  try {
    return atob(base64.replaceAll("-", "+").replaceAll("_", "/").replace(/=+$/, ""))
  } catch {
    return undefined
  }
}

const ofHex = (hex: string): string =>
  Array.from({ length: hex.length / 2 }, (_, at) =>
    String.fromCharCode(Number.parseInt(hex.slice(at * 2, at * 2 + 2), 16))
  ).join("")

/** Encodings of text, each with a function that returns the decoded text. */
const encodings: ReadonlyArray<readonly [name: string, pattern: RegExp, decode: (run: string) => string | undefined]> =
  [
    ["hexadecimal", /(?:[0-9a-f]{2}){12,}/gi, ofHex],
    ["base64", /[A-Za-z0-9+/_-]{24,}={0,2}/g, bytesOf],
    ["escapes", /(?:%[0-9a-f]{2}|\\x[0-9a-f]{2}|\\u[0-9a-f]{4}|&#x?[0-9a-f]{1,6};){8,}/gi, () => " "]
  ]

/** Instructions that have no place in a tool's documentation. */
const orders: ReadonlyArray<readonly [pattern: RegExp, reason: string]> = [
  [
    /<\s{0,8}(?:\/\s{0,8})?(?:important|system|instructions?|hidden|secret|admin|assistant)\b[^<>]{0,80}>/i,
    "contains markup that imitates system instructions"
  ],
  [
    /\b(?:ignore|disregard|forget|override)\b[^.\n]{0,40}\b(?:all|any|previous|prior|earlier|above|other)\b[^.\n]{0,40}\b(?:instructions?|prompts?|rules?|messages?)\b/i,
    "tells the model to ignore other instructions"
  ],
  [
    /\b(?:do not|don't|never|without)\b[^.\n]{0,40}\b(?:tell|telling|mention|mentioning|inform|informing|reveal|show|notify|notifying)\b[^.\n]{0,40}\b(?:user|users|human|anyone)\b/i,
    "tells the model to hide something from the user"
  ],
  [
    /\b(?:before|after|when|whenever|instead of)\b[^.\n]{0,30}\b(?:use|using|call|calling|invoke|invoking)\b[^.\n]{0,30}\b(?:any|every|another|other)\b[^.\n]{0,20}\btools?\b/i,
    "tells the model how to use other tools"
  ]
]

/** Returns the suspicions about one text. `others` holds the names of other servers' tools, in lower case. */
export const inText = (
  text: string,
  path: string = "",
  others: ReadonlySet<string> = new Set()
): ReadonlyArray<Suspicion> => {
  const found: Array<Suspicion> = []
  const add = (code: SuspicionCode, message: string) => found.push({ code, path, message })
  const checked = text.slice(0, maxText)
  if (text.length > maxText) add("encoded", `is longer than ${maxText} characters`)
  const invisible = unseen.exec(checked.replaceAll(ordinary, ""))
  if (invisible !== null) {
    const point = (invisible[0].codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")
    add("invisible", `contains an invisible character (U+${point})`)
  }
  for (const [name, pattern, decode] of encodings) {
    const run = [...checked.matchAll(pattern)].find(([run]) => {
      const plain = decode(run)
      return plain !== undefined && printable.test(plain)
    })
    if (run !== undefined) add("encoded", `contains encoded text (${name}): ${excerpt(run[0], 40)}`)
  }
  for (const [pattern, reason] of orders) {
    const order = pattern.exec(checked)
    if (order !== null) add("steers", `${reason}: ${excerpt(order[0], 80)}`)
  }
  const other = namesIn(checked).find((name) => others.has(name))
  if (other !== undefined) add("steers", `mentions another server's tool: ${excerpt(other, 80)}`)
  return found
}

/** Returns the tool names that a text mentions, in lower case: unusual words, quoted words, and words before "tool". */
const namesIn = (text: string): ReadonlyArray<string> =>
  [
    ...[
      ...text.matchAll(
        /(?<![\p{L}\p{N}])[\p{L}\p{N}]{1,64}(?:[_./-][\p{L}\p{N}]{1,64}){1,8}|(?<!\p{Ll})\p{Ll}{1,64}\p{Lu}[\p{L}\p{N}]{0,64}/gu
      )
    ].map(([name]) => name),
    ...[...text.matchAll(/[`'"]([^`'"\s]{2,64})[`'"]/g)].map(([, name = ""]) => name),
    ...[...text.matchAll(/\b([\p{L}\p{N}]{2,64})\s{1,8}tool\b/gu)].map(([, name = ""]) => name)
  ].map((name) => name.toLowerCase())

/** Keywords and fields with a special syntax that may look like encoded text. */
const coded = new Set(["$id", "$ref", "blob", "digest", "pattern"])

/** Keywords that hold names chosen by the server. */
const naming = new Set(["$defs", "definitions", "dependentSchemas", "patternProperties", "properties"])

/** True if a `$schema` names a dialect or is absent. Anything else is text for the model. */
export const isDialect = (value: unknown): boolean =>
  value === undefined || (typeof value === "string" && /^https?:\/\/json-schema\.org\/[\w./#-]{1,60}$/.test(value))

/** Returns the suspicions about the texts in a tool, prompt, resource or template, with their places. */
export const inItem = (item: JsonObject, others: ReadonlySet<string> = new Set()): ReadonlyArray<Suspicion> => {
  const found: Array<Suspicion> = []
  const open: Array<readonly [path: string, value: unknown, keyword?: string | undefined]> = [["", item]]
  let texts = 0
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [path, value, keyword = ""] = next
    if (typeof value === "string") {
      const all = keyword === "$schema" && isDialect(value) ? [] : inText(value, path, others)
      found.push(...(coded.has(keyword) ? all.filter(({ code }) => code !== "encoded") : all))
    } else if (Array.isArray(value)) {
      value.forEach((inner, at) => open.push([`${path}/${at}`, inner]))
    } else if (isJsonObject(value)) {
      const isNaming = naming.has(keyword)
      for (const [key, inner] of Object.entries(value)) {
        const place = `${path}/${key}`
        // Icons contain base64, and models don't read them.
        if (path === "" && key === "icons") continue
        // Models also read the names of arguments.
        found.push(...inText(key, place, others))
        // An argument may have the name of a keyword.
        open.push([place, inner, isNaming ? undefined : key])
      }
    }
    if (++texts > maxTexts) return [...found, { code: "encoded", path: "", message: "has too many parts to check" }]
  }
  return found
}

/** Letters of other alphabets that look like Latin letters. */
const lookAlikes = new Map(
  Array.from("аеорсухіјѕһԁԛԝкмтвнαεορτυνικηβμχ", (letter, at) => [
    letter,
    "aeopcyxijshdqwkmtbhaeoptuviknbmx".charAt(at)
  ])
)

/**
 * Returns a form of a name that is equal for names a person or a model confuses: without case, separators, marks and invisible characters,
 * and with look-alike letters replaced.
 */
export const folded = (name: string): string =>
  Array.from(name.normalize("NFKD").toLowerCase(), (letter) => lookAlikes.get(letter) ?? letter)
    .join("")
    .replaceAll(/[^\p{L}\p{N}]/gu, "")
    .replaceAll("0", "o")
    .replaceAll("1", "l")
