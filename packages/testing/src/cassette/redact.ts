/**
 * Takes secrets out of what is recorded: values of fields that are named like secrets, and texts that look like credentials.
 *
 * No header is ever recorded, so that credentials of HTTP requests are in no cassette.
 */
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"

/** Stands for a secret. In a request that is compared it fits any text. */
export const redacted = "[redacted]"

const names =
  /secret|passw(?:or)?d|passphrase|api[-_]?key|private[-_]?key|access[-_]?key|credential|cookie|authorization|bearer|(?:^|[-_a-z])token$/i
/** Fields of the protocol that are named like secrets, and are none. */
const harmless = new Set(["progressToken", "maxTokens", "nextToken"])

/** What is nested deeper is redacted as a whole. */
const deepest = 200

/** Members of a JSON Schema whose own members are named as the fields that they describe. */
const schemas = new Set(["properties", "patternProperties", "$defs", "definitions"])

/** What names of secrets contain, in texts such as `DB_PASSWORD=x`. */
const named =
  /(?:secret|passw(?:or)?d|passphrase|credential|(?:api|access|account|private|signing|encryption)[-_]?key)[\w-]{0,40}|(?:[-_]|access|auth|refresh|session|bot|api)token(?![a-z])/
    .source

/**
 * Credentials in a text: of well-known shapes, in URLs, and behind a name. A text may be long and of a hostile server: no pattern looks at
 * a character more than a few times.
 */
const texts: ReadonlyArray<readonly [pattern: RegExp, by: string]> = [
  [/\b(Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{8,}/gi, `$1 ${redacted}`],
  [/(?<![\w-])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*/g, redacted],
  [/\b(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}/g, redacted],
  [/\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}|\bxox[a-z]-[\w-]{10,}/g, redacted],
  [/\bA(?:KIA|SIA)[A-Z0-9]{16}\b/g, redacted],
  [/-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[^]*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|$)/g, redacted],
  [/(\b[a-z][a-z0-9+.-]{0,30}:\/\/[^\s/:@]{0,256}:)[^\s/@]{1,1024}@/gi, `$1${redacted}@`],
  [/([?&](?:access_|id_|refresh_)?(?:token|key|api_?key|secret|code|signature|password)=)[^&\s"']+/gi, `$1${redacted}`],
  [
    new RegExp(
      String.raw`((?:${named})\\?["']?[^\S\n]*[:=][^\S\n]*\\?(["']))(?!\[redacted)(?:(?!\\?\2)[^]){1,4096}`,
      "gi"
    ),
    `$1${redacted}`
  ],
  [new RegExp(String.raw`((?:${named})\\?["']?[^\S\n]*[:=][^\S\n]*)(?![[{"'\\])[^\s"',;}\\]+`, "gi"), `$1${redacted}`]
]

const clean = (text: string): string => texts.reduce((text, [pattern, by]) => text.replace(pattern, by), text)

/** Secrets that are arguments of a command, such as `--api-key VALUE`. */
const flags = new RegExp(
  String.raw`((?:^|\s)--?[\w-]{0,40}?(?:${named}|token|bearer|authorization|cookie)[\w-]{0,40}(?:\s+|=))(?!-)\S+`,
  "gi"
)

/** A command line or a URL without its secrets. */
export const redactName = (name: string): string => clean(name.replace(flags, `$1${redacted}`))

/** What `redact` found, as paths such as `params.arguments.apiKey`. */
interface Found {
  readonly value: unknown
  readonly paths: ReadonlyArray<string>
}

export interface Options {
  /** Names of fields that are secrets, beside those that are known. Upper and lower case are the same. */
  readonly names?: ReadonlyArray<string> | undefined
}

/** A name of a field that no other field of the object has. Only those that were redacted may be equal. */
const unique = (name: string, taken: Set<string>): string => {
  let free = name
  for (let number = 2; taken.has(free); number++) free = `${name} ${number}`
  taken.add(free)
  return free
}

/** JSON without its secrets. */
export const redact = (json: unknown, { names: more = [] }: Options = {}): Found => {
  const paths: Array<string> = []
  const own = new Set(more.map((name) => name.toLowerCase()))
  const isSecret = (name: string) => (names.test(name) && !harmless.has(name)) || own.has(name.toLowerCase())
  // `schema`: the names are those of properties in a JSON Schema, which describe secrets and are none.
  const walk = (value: unknown, path: string, depth: number, secret: boolean, schema = false): unknown => {
    if (depth > deepest) {
      paths.push(path)
      return redacted
    }
    if (Array.isArray(value))
      return value.map((member: unknown, index) => walk(member, `${path}[${index}]`, depth + 1, secret))
    if (isJsonObject(value)) {
      const taken = new Set<string>()
      const entries = Object.entries(value).map(([name, member]): readonly [string, unknown] => {
        const hidden = secret || (isSecret(name) && !(schema && isJsonObject(member)))
        const shown = unique(clean(name), taken)
        const place = path === "" ? shown : `${path}.${shown}`
        if (shown !== name) paths.push(place)
        return [shown, walk(member, place, depth + 1, hidden, schemas.has(name))]
      })
      return Object.fromEntries(entries)
    }
    const hidden = secret && (typeof value === "string" || typeof value === "number") ? redacted : value
    const cleaned = typeof hidden === "string" ? clean(hidden) : hidden
    if (cleaned !== value) paths.push(path)
    return cleaned
  }
  return { value: walk(json, "", 0, false), paths }
}
