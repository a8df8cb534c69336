/** Rules about the entries of the extension `io.modelcontextprotocol/skills` (2026-07-28), each judged on its own. */
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import { at, isText } from "../model/json.ts"
import type { Model } from "../model/Model.ts"
import type { Answer, Exchange } from "../model/Observation.ts"
import type { Rule, RuleHandlers, Verdict } from "../model/Rule.ts"
import { entriesOf, extension, filesOf, rootOf } from "../model/skills.ts"
import { show, violated, wrongParams } from "./judge.ts"

const page = "extensions/skills"

/** Creates a rule about skills. `requirement` and `section` are parts of its ID and of its section. */
export const skillRule = (
  name: string,
  requirement: string,
  section: string,
  text: string,
  on: RuleHandlers,
  level: "MUST" | "SHOULD" = "MUST"
): Rule => ({
  name,
  level,
  requirement: `skills.${requirement}`,
  section: `${page}#${section}`,
  text,
  since: "2026-07-28",
  on
})

/** The server's settings of the extension, or `undefined` if it does not declare the extension. */
export const settingsOf = ({ capabilities }: Model): unknown => at(capabilities, "extensions", extension)

/** Judges answers to valid requests of these methods, if the server declares the extension. */
export const about = (
  methods: RegExp,
  check: (exchange: Exchange, answer: Answer, model: Model) => Verdict
): RuleHandlers => ({
  Answered: ({ answer, exchange }, model) =>
    methods.test(exchange.method) &&
    exchange.wellFormed &&
    exchange.open &&
    settingsOf(model) !== undefined &&
    wrongParams(exchange, model) === undefined
      ? check(exchange, answer, model)
      : undefined
})

/** Judges each entry in the results of `skills/list` and `skills/get`. `check` describes the fault. */
const entries = (check: (entry: JsonObject, uri: string) => string | undefined): RuleHandlers =>
  about(/^skills\/(list|get)$/, (_, answer) => {
    const all = answer._tag === "Result" ? entriesOf(answer.result) : []
    for (const entry of all) {
      const uri = at(entry, "uri")
      // Another rule judges entries without a URI.
      const wrong = isJsonObject(entry) && typeof uri === "string" ? check(entry, uri) : undefined
      if (wrong !== undefined) return violated(`The entry ${show(uri)} ${wrong}`, String(uri).slice(0, 80))
    }
    return all.length > 0 ? "pass" : undefined
  })

const nameOf = (entry: JsonObject): unknown => at(entry, "frontmatter", "name")

/** Returns the last segment of a skill's path. */
const segmentOf = (uri: string): string => {
  const segment = rootOf(uri)?.split("/").at(-1) ?? ""
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

/** True if a URI leads to a file in a directory, without a segment that climbs. */
const isWithin = (root: string, uri: string): boolean =>
  uri.startsWith(`${root}/`) &&
  !uri
    .slice(root.length)
    .split("/")
    .some((segment) => /^(?:\.|%2e)+$/i.test(segment))

const completeness = (entry: JsonObject, uri: string): string | undefined => {
  if (entry.resources === "dynamic") return undefined
  if (!Array.isArray(entry.resources)) return `has no list of files: ${show(entry.resources)}`
  const uris = filesOf(entry).map((file) => file.uri)
  if (!uris.includes(uri)) return "does not list its SKILL.md"
  const twice = uris.find((one, index) => uris.indexOf(one) !== index)
  return twice === undefined ? undefined : `lists ${show(twice)} twice`
}

const sizesOf = (entry: JsonObject): ReadonlyArray<number> =>
  filesOf(entry).map(({ size }) => (typeof size === "number" ? size : 0))

const [maxFiles, maxBytes] = [512, 16 * 1024 * 1024]

export const skillEntries: ReadonlyArray<Rule> = [
  skillRule(
    "skill-has-manifest",
    "entry.skill-md",
    "skill-format",
    "Every skill has a SKILL.md at its root.",
    about(/^skills\/(list|get)$/, (_, answer) => {
      const all = answer._tag === "Result" ? entriesOf(answer.result) : []
      const wrong = all.find((entry) => {
        const uri = at(entry, "uri")
        return typeof uri !== "string" || rootOf(uri) === undefined
      })
      if (wrong !== undefined) return violated(`An entry has no URI of a SKILL.md: ${show(wrong)}`)
      return all.length > 0 ? "pass" : undefined
    })
  ),
  skillRule(
    "skill-frontmatter-fields",
    "entry.frontmatter-fields",
    "skill-format",
    "The frontmatter of a skill has a name and a description.",
    entries((entry) => {
      const missing = ["name", "description"].find((field) => !isText(at(entry, "frontmatter", field)))
      return missing === undefined ? undefined : `has no ${missing}`
    })
  ),
  skillRule(
    "skill-uri-scheme",
    "uri.scheme",
    "resource-mapping",
    "The URI of a skill has the scheme skill.",
    entries((_, uri) => (uri.startsWith("skill://") ? undefined : "has another scheme")),
    "SHOULD"
  ),
  skillRule(
    "skill-name-path",
    "entry.name",
    "resource-mapping",
    "The last segment of a skill's path is its name.",
    entries((entry, uri) =>
      nameOf(entry) === segmentOf(uri) ? undefined : `has the name ${show(nameOf(entry))} instead`
    )
  ),
  skillRule(
    "skill-name-rules",
    "entry.naming",
    "resource-mapping",
    "A skill's name has 1 to 64 lowercase letters, digits and single hyphens.",
    entries((entry) => {
      const name = nameOf(entry)
      const isValid = typeof name === "string" && name.length <= 64 && /^[a-z0-9]+(?:-[a-z0-9]+)*$/.test(name)
      return isValid ? undefined : `has the name ${show(name)}`
    })
  ),
  skillRule(
    "skill-manifest-complete",
    "entry.complete",
    "resources",
    "The manifest lists every file once, including SKILL.md.",
    entries(completeness)
  ),
  skillRule(
    "skill-files-within",
    "entry.within",
    "resources",
    "Each file of the manifest is in the skill's directory.",
    entries((entry, uri) => {
      const root = rootOf(uri)
      const outside = root === undefined ? undefined : filesOf(entry).find((file) => !isWithin(root, file.uri))
      return outside && `lists ${show(outside.uri)}, which is elsewhere`
    })
  ),
  skillRule(
    "skill-limits",
    "limits.server",
    "limits",
    "No skill has more than 512 files or 16 MiB.",
    entries((entry) => {
      const sizes = sizesOf(entry)
      const bytes = sizes.reduce((sum, size) => sum + size, 0)
      return sizes.length > maxFiles || bytes > maxBytes ? `has ${sizes.length} files and ${bytes} bytes` : undefined
    }),
    "SHOULD"
  )
]
