/**
 * Removes secrets from recorded messages: the values of fields with secret-sounding names, and text that looks like a credential. Text that
 * contains JSON is treated as JSON.
 *
 * Headers are never recorded, so a cassette doesn't contain the credentials of HTTP requests.
 */
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import { parse } from "../model/json.ts"

/** Placeholder for a secret. When requests are compared, it matches any text. */
export const redacted = "[redacted]"

const names =
  /secret|passw(?:or)?d|passphrase|api[-_]?key|private[-_]?key|access[-_]?key|credential|cookie|authorization|bearer|^x-?auth|(?:^|[-_a-z])token$/i
/** Names of secrets that only count as a separate word: `userPin`, but not `pinned`. */
const words: ReadonlySet<string> = new Set(["cvc", "cvv", "otp", "passcode", "pin", "pwd", "totp"])
const short = [...words].join("|")
/** Splits words, as in `user_pin`, `userPin` and `PINCode`. */
const between = /(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[^A-Za-z0-9]+/
/** Protocol fields that are named like secrets but are not secret. */
const harmless = new Set(["progressToken", "maxTokens", "nextToken"])

/** Values nested deeper than this are redacted as a whole. */
const deepest = 200

/** Keywords of a JSON Schema whose members are named after the described fields. */
const schemas = new Set(["properties", "patternProperties", "$defs", "definitions"])

/** Matches names of secrets in texts such as `DB_PASSWORD=x`. */
const named =
  /(?:secret|passw(?:or)?d|passphrase|credential|(?:api|access|account|private|signing|encryption)[-_]?key)[\w-]{0,40}|(?:[-_]|access|auth|refresh|session|bot|api)token(?![a-z])/
    .source

/**
 * Patterns for credentials in a text: well-known formats, in URLs, and after a name. The text may be long and hostile, so no pattern looks
 * at a character more than a few times.
 */
const texts: ReadonlyArray<readonly [pattern: RegExp, by: string]> = [
  [/\b(Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{8,}/gi, `$1 ${redacted}`],
  [/(?<![\w-])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*/g, redacted],
  [/\b(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}/g, redacted],
  [/\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}|\bxox[a-z]-[\w-]{10,}/g, redacted],
  [/\bA(?:KIA|SIA)[A-Z0-9]{16}\b/g, redacted],
  [/-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[^]*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|$)/g, redacted],
  [/(\b[a-z][a-z0-9+.-]{0,30}:\/\/[^\s/:@]{0,256}:)[^\s/@]{1,1024}@/gi, `$1${redacted}@`],
  [
    /([?&](?:access_|id_|refresh_)?(?:token|key|api_?key|secret|code|signature|passw(?:or)?d|pwd|pin|otp)=)[^&\s"']+/gi,
    `$1${redacted}`
  ],
  [
    new RegExp(
      String.raw`((?:${named})\\?["']?[^\S\n]*[:=][^\S\n]*\\?(["']))(?!\[redacted)(?:(?!\\?\2)[^]){1,4096}`,
      "gi"
    ),
    `$1${redacted}`
  ],
  [new RegExp(String.raw`((?:${named})\\?["']?[^\S\n]*[:=][^\S\n]*)(?![[{"'\\])[^\s"',;}\\]+`, "gi"), `$1${redacted}`],
  // The rest of the line, because cookies have several values and `Authorization` has two words.
  [
    /((?<![a-z0-9])(?:(?:set-)?cookie2?|(?:proxy-)?authorization|x-auth[\w-]{0,40})\\?["']?[^\S\n]*[:=][^\S\n]*(?:\\?["'])?)(?!(?:Bearer |Basic )?\[redacted|[[{"'\\\s])[^"'\\\r\n]{1,8192}/gi,
    `$1${redacted}`
  ],
  [
    new RegExp(
      String.raw`((?<![a-z0-9])(?:${short})\\?["']?[^\S\n]*[:=][^\S\n]*(?:\\?["'])?)(?![[{"'\\]|\[redacted)[^\s"',;&}\\]+`,
      "gi"
    ),
    `$1${redacted}`
  ]
]

const clean = (text: string): string => texts.reduce((text, [pattern, by]) => text.replace(pattern, by), text)

/** Matches secrets in command arguments, such as `--api-key VALUE`. */
const flags = new RegExp(
  String.raw`((?:^|\s)--?(?:[\w-]{0,40}?(?:${named}|token|bearer|authorization|cookie|x-auth)[\w-]{0,40}|(?:[\w-]{0,40}-)?(?:${short}))(?:\s+|=))(?!-)\S+`,
  "gi"
)

/** Removes secrets from a command line or a URL. */
export const redactName = (name: string): string => clean(name.replace(flags, `$1${redacted}`))

/** The redacted JSON, and the paths of the redacted values, such as `params.arguments.apiKey`. */
interface Found {
  readonly value: unknown
  readonly paths: ReadonlyArray<string>
}

export interface Options {
  /** Additional names of fields to treat as secret. Case-insensitive. */
  readonly names?: ReadonlyArray<string> | undefined
}

/** Returns a unique name for a field. Only redacted names can collide. */
const unique = (name: string, taken: Set<string>): string => {
  let free = name
  for (let number = 2; taken.has(free); number++) free = `${name} ${number}`
  taken.add(free)
  return free
}

/** Parses a text that contains a JSON object or array. Returns `undefined` for any other text. */
export const containerIn = (text: string): unknown => {
  const value = /^\s*[[{]/.test(text) ? parse(text.trim()) : undefined
  return Array.isArray(value) || isJsonObject(value) ? value : undefined
}

/** Removes secrets from a JSON value. */
export const redact = (json: unknown, { names: more = [] }: Options = {}): Found => {
  const paths: Array<string> = []
  const own = new Set(more.map((name) => name.toLowerCase()))
  const isSecret = (name: string) =>
    (names.test(name) && !harmless.has(name)) ||
    name.split(between).some((word) => words.has(word.toLowerCase())) ||
    own.has(name.toLowerCase())
  // A text without secrets keeps its layout.
  const walkText = (text: string, path: string, depth: number): string => {
    const json = containerIn(text)
    if (json === undefined) return clean(text)
    const before = paths.length
    const value = walk(json, path, depth + 1, false)
    return paths.length === before ? clean(text) : JSON.stringify(value, undefined, text.includes("\n") ? 2 : undefined)
  }
  // `schema` is true for properties in a JSON Schema, which describe secrets but are not secret.
  const walk = (value: unknown, path: string, depth: number, secret: boolean, schema = false): unknown => {
    if (depth > deepest) {
      paths.push(path)
      return redacted
    }
    if (Array.isArray(value))
      return value.map((member: unknown, index) => walk(member, `${path}[${index}]`, depth + 1, secret))
    if (isJsonObject(value)) {
      const taken = new Set<string>()
      // Headers and variables are often listed as `{ name: "Set-Cookie", value: "..." }`.
      const named = [value["name"], value["key"]].some((name) => typeof name === "string" && isSecret(name))
      const entries = Object.entries(value).map(([name, member]): readonly [string, unknown] => {
        const hidden = secret || (isSecret(name) && !(schema && isJsonObject(member))) || (named && name === "value")
        const shown = unique(clean(name), taken)
        const place = path === "" ? shown : `${path}.${shown}`
        if (shown !== name) paths.push(place)
        return [shown, walk(member, place, depth + 1, hidden, schemas.has(name))]
      })
      return Object.fromEntries(entries)
    }
    const hidden = secret && (typeof value === "string" || typeof value === "number") ? redacted : value
    if (typeof hidden !== "string") return hidden
    const found = paths.length
    const cleaned = hidden === redacted ? hidden : walkText(hidden, path, depth)
    if (cleaned !== value && paths.length === found) paths.push(path)
    return cleaned
  }
  return { value: walk(json, "", 0, false), paths }
}
