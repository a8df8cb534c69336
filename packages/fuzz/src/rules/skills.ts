/** Rules of the extension `io.modelcontextprotocol/skills` (2026-07-28) that compare several answers: methods, files and directories. */
import * as McpError from "@effect-mcp/protocol/McpError"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Yaml from "effect/encoding/Yaml"
import { createHash } from "node:crypto"
import { at } from "../model/json.ts"
import type { Model } from "../model/Model.ts"
import type { Answer } from "../model/Observation.ts"
import type { Rule, RuleHandlers, Verdict } from "../model/Rule.ts"
import { entriesOf, filesOf, invented, type ManifestFile, rootOf } from "../model/skills.ts"
import { about, settingsOf, skillEntries, skillRule } from "./skillEntries.ts"
import { refused, show, showAnswer, violated } from "./judge.ts"

const digestPattern = /^sha256:[0-9a-f]{64}$/

/** Returns every description of a file in the manifests that were sent so far. */
const listed = ({ offers }: Model, uri: string): ReadonlyArray<ManifestFile> =>
  [...offers.skills.values()].flatMap(filesOf).filter((file) => file.uri === uri)

const uriOf = (params: unknown): string => {
  const uri = at(params, "uri")
  return typeof uri === "string" ? uri : ""
}

/** Returns the part of the contents with this URI. */
const partOf = (answer: Answer, uri: string): JsonObject | undefined => {
  const contents = answer._tag === "Result" ? at(answer.result, "contents") : undefined
  const part: unknown = Array.isArray(contents) ? contents.find((each) => at(each, "uri") === uri) : undefined
  return isJsonObject(part) ? part : undefined
}

/** Returns the bytes of a part, or `undefined` if it has no text and no valid base64. */
const bytesOf = ({ blob, text }: JsonObject): Uint8Array | undefined => {
  if (typeof text === "string") return new TextEncoder().encode(text)
  return typeof blob === "string" && /^[A-Za-z0-9+/]*={0,2}$/.test(blob) ? Buffer.from(blob, "base64") : undefined
}

/** Judges reads of listed files. In observed traffic, a file may have changed since its manifest was sent. */
const files = (
  check: (file: ManifestFile, bytes: Uint8Array, part: JsonObject, model: Model) => string | undefined
): RuleHandlers =>
  about(/^resources\/read$/, ({ params }, answer, model) => {
    const uri = uriOf(params)
    const part = model.observed ? undefined : partOf(answer, uri)
    const bytes = part && bytesOf(part)
    const known = listed(model, uri)
    if (part === undefined || bytes === undefined || known.length === 0) return undefined
    for (const file of known) {
      const wrong = check(file, bytes, part, model)
      if (wrong !== undefined) return violated(`${show(uri)} ${wrong}`)
    }
    return "pass"
  })

/** Judges a field of every file in an entry, too. */
const fields = (wrong: (file: ManifestFile) => boolean, field: string, reads: RuleHandlers): RuleHandlers => ({
  Answered: (observation, model) =>
    reads.Answered?.(observation, model) ?? ofEntries(wrong, field).Answered?.(observation, model)
})

const ofEntries = (wrong: (file: ManifestFile) => boolean, field: string): RuleHandlers =>
  about(/^skills\/(list|get)$/, (_, answer) => {
    const all = answer._tag === "Result" ? entriesOf(answer.result).flatMap(filesOf) : []
    const one = all.find(wrong)
    if (one !== undefined) return violated(`${show(one.uri)} has the ${field} ${show(one[field])}`)
    return all.length > 0 ? "pass" : undefined
  })

/** Parses the frontmatter of a `SKILL.md`, or returns `undefined` if parsers may disagree about it. */
const frontmatterOf = (bytes: Uint8Array): JsonObject | undefined => {
  const [, yaml] = /^\ufeff?---[ \t]*\r?\n([^]*?)(?<=\n)---/.exec(new TextDecoder().decode(bytes)) ?? []
  if (yaml === undefined || yaml.length > 16 * 1024) return undefined
  try {
    const parsed = Yaml.parse(yaml.replaceAll("\r\n", "\n"))
    return isJsonObject(parsed) ? parsed : undefined
  } catch {
    return undefined
  }
}

/** Returns a field that an entry lacks, adds or changes. Parsers agree only on texts and booleans, so other values are not compared. */
const differing = (entry: unknown, written: JsonObject): string | undefined => {
  const sent = at(entry, "frontmatter")
  const keys = new Set([...Object.keys(written), ...Object.keys(isJsonObject(sent) ? sent : {})])
  return [...keys].find((key) => {
    const [one, other] = [at(sent, key), at(written, key)]
    if (one === undefined || other === undefined) return true
    return typeof one === typeof other && (typeof one === "string" || typeof one === "boolean") && one !== other
  })
}

/** Returns JSON with sorted keys and files, so that the same entry always has the same text. */
const canonical = (entry: unknown): string =>
  JSON.stringify(entry, (key, value: unknown) => {
    if (key === "resources" && Array.isArray(value)) return value.map((file) => JSON.stringify(file)).toSorted()
    return isJsonObject(value)
      ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : value
  })

const methods = (names: RegExp, isDeclared: (model: Model) => boolean): RuleHandlers =>
  about(names, ({ method }, answer, model) => {
    if (!isDeclared(model)) return undefined
    return answer._tag === "Error" && answer.code === McpError.MethodNotFound
      ? violated(`${method} is declared, but answered with ${showAnswer(answer)}`, method)
      : "pass"
  })

const cache = (method: RegExp): RuleHandlers =>
  about(method, (_, answer) => {
    if (answer._tag === "Error") return undefined
    const [ttl, scope] = [at(answer.result, "ttlMs"), at(answer.result, "cacheScope")]
    const isValid = typeof ttl === "number" && ttl >= 0 && (scope === "public" || scope === "private")
    return isValid ? "pass" : violated(`ttlMs is ${show(ttl)} and cacheScope is ${show(scope)}`)
  })

/** True if a lenient server could read the URI as the URI of a listed file or directory. */
const mayMean = (uri: string, model: Model): boolean => {
  const plain = URL.canParse(uri) ? new URL(uri).href : uri
  const meant = [plain, plain.replace(/[?#].*$/, "")].map((one) => one.replace(/([^:])\/{2,}/g, "$1/"))
  const all = [...[...model.offers.skills.values()].flatMap(filesOf).map((file) => file.uri), ...model.resources]
  return [uri, ...meant].some((one) =>
    all.some((known) => known === one || known.startsWith(`${one.replace(/\/$/, "")}/`))
  )
}

/** Judges reads below a skill that lists its files, if no skill has the file. */
const unlisted: RuleHandlers = about(/^resources\/read$/, ({ params }, answer, model) => {
  const uri = uriOf(params)
  const isBelow = [...model.offers.skills].some(([skill, entry]) => {
    const root = rootOf(skill)
    return root !== undefined && Array.isArray(entry.resources) && uri.startsWith(`${root}/`)
  })
  if (!isBelow || model.observed || mayMean(uri, model)) return undefined
  return refused(answer, McpError.InvalidParams, `Reading ${show(uri)}, which is no file of a skill,`)
})

const nested: RuleHandlers = about(/^skills\/(list|get)$/, (_, answer, model) => {
  const sent = answer._tag === "Result" && !model.observed ? entriesOf(answer.result) : []
  const all = [...model.offers.skills.values(), ...sent].filter((entry) => Array.isArray(at(entry, "resources")))
  let verdict: Verdict
  for (const outer of all) {
    const root = rootOf(uriOf(outer))
    const inner = all.filter((one) => one !== outer && root !== undefined && rootOf(uriOf(one))?.startsWith(`${root}/`))
    const uris = new Set(filesOf(outer).map(({ uri }) => uri))
    const missing = inner.flatMap(filesOf).find(({ uri }) => !uris.has(uri))
    if (missing !== undefined) return violated(`${show(uriOf(outer))} does not list ${show(missing.uri)}`)
    if (inner.length > 0) verdict = "pass"
  }
  return verdict
})

const got: RuleHandlers = about(/^skills\/get$/, ({ params }, answer, model) => {
  if (answer._tag === "Error" || model.observed) return undefined
  const [entry] = entriesOf(answer.result)
  const uri = uriOf(params)
  if (uriOf(entry) !== uri) return violated(`skills/get of ${show(uri)} is answered with ${show(entry)}`)
  const known = model.offers.skills.get(uri)
  return known === undefined || canonical(known) === canonical(entry)
    ? "pass"
    : violated(`skills/get of ${show(uri)} is answered with another entry than before: ${show(entry)}`)
})

const unknown: RuleHandlers = about(/^skills\/get$/, ({ params }, answer, model) => {
  const uri = uriOf(params)
  const isSupporting = listed(model, uri).length > 0 && rootOf(uri) === undefined
  if (!uri.includes(invented) && !isSupporting) return undefined
  return refused(answer, McpError.InvalidParams, `skills/get of ${show(uri)}, which is no skill,`)
})

const pages: RuleHandlers = about(/^skills\/list$/, ({ params }, answer, model) => {
  const cursor = at(params, "cursor")
  if (typeof cursor !== "string" || cursor !== model.next.get("skills/list") || model.observed) return undefined
  if (answer._tag === "Error") return violated(`The server's own cursor is answered with ${showAnswer(answer)}`)
  return at(answer.result, "nextCursor") === cursor ? violated(`The cursor ${show(cursor)} leads to itself`) : "pass"
})

const described: RuleHandlers = about(/^resources\/(list|directory\/read)$/, (_, answer, model) => {
  const resources = answer._tag === "Result" ? at(answer.result, "resources") : undefined
  let verdict: Verdict
  for (const resource of Array.isArray(resources) && !model.observed ? resources : []) {
    const entry = model.offers.skills.get(uriOf(resource))
    const wrong = ["name", "description"].find((key) => at(resource, key) !== at(entry, "frontmatter", key))
    if (entry !== undefined && wrong !== undefined)
      return violated(`The resource ${show(uriOf(resource))} has another ${wrong}: ${show(at(resource, wrong))}`)
    if (entry !== undefined) verdict = "pass"
  }
  return verdict
})

const children: RuleHandlers = about(/^resources\/directory\/read$/, ({ params }, answer, model) => {
  const uri = uriOf(params).replace(/\/$/, "")
  const resources = answer._tag === "Result" ? at(answer.result, "resources") : undefined
  const isWhole = at(params, "cursor") === undefined && at(Object(answer).result, "nextCursor") === undefined
  if (!Array.isArray(resources) || !isWhole || model.observed) return undefined
  const types = new Map(resources.map((one: unknown) => [uriOf(one).replace(/\/$/, ""), at(one, "mimeType")]))
  const stranger = [...types.keys()].find(
    (one) => !one.startsWith(`${uri}/`) || one.slice(uri.length + 1).includes("/")
  )
  if (stranger !== undefined) return violated(`${show(stranger)} is not a direct child of ${show(uri)}`)
  const below = [...model.offers.skills.values()].flatMap(filesOf).filter((file) => file.uri.startsWith(`${uri}/`))
  for (const file of below) {
    const end = file.uri.indexOf("/", uri.length + 1)
    const child = end === -1 ? file.uri : file.uri.slice(0, end)
    if (!types.has(child)) return violated(`${show(uri)} has no child ${show(child)}`)
    if (end !== -1 && types.get(child) !== "inode/directory")
      return violated(`The folder ${show(child)} has the media type ${show(types.get(child))}`)
  }
  return below.length > 0 ? "pass" : undefined
})

const noDirectory: RuleHandlers = about(/^resources\/directory\/read$/, ({ params }, answer, model) => {
  const uri = uriOf(params)
  if (at(settingsOf(model), "directoryRead") !== true) return undefined
  if (!uri.includes(invented) && listed(model, uri).length === 0) return undefined
  return refused(answer, McpError.InvalidParams, `Reading ${show(uri)}, which is no directory,`)
})

const readable: RuleHandlers = about(/^resources\/read$/, ({ params }, answer, model) => {
  const uri = uriOf(params)
  if (model.observed || listed(model, uri).length === 0) return undefined
  return partOf(answer, uri) === undefined
    ? violated(`Reading ${show(uri)}, a file of a skill, is answered with ${showAnswer(answer)}`)
    : "pass"
})

const isSize = (size: unknown): boolean => typeof size === "number" && Number.isSafeInteger(size) && size >= 0
const isDigest = (digest: unknown): boolean => typeof digest === "string" && digestPattern.test(digest)

/** Rules about files, in the order of the specification. */
const ofFiles: ReadonlyArray<Rule> = [
  skillRule(
    "skill-digest",
    "entry.digest",
    "resources",
    "The digest of a file is the SHA-256 of its bytes in lowercase hexadecimal.",
    fields(
      ({ digest }) => !isDigest(digest),
      "digest",
      files(({ digest }, bytes) => {
        const real = `sha256:${createHash("sha256").update(bytes).digest("hex")}`
        return digest === real ? undefined : `has the digest ${real}, but its manifest says ${show(digest)}`
      })
    )
  ),
  skillRule(
    "skill-size",
    "entry.size",
    "resources",
    "The size of a file is its number of bytes.",
    fields(
      ({ size }) => !isSize(size),
      "size",
      files(({ size }, { length }) =>
        size === length ? undefined : `has ${length} bytes, but its manifest says ${show(size)}`
      )
    )
  ),
  skillRule(
    "skill-frontmatter-same",
    "entry.frontmatter",
    "frontmatter",
    "An entry has the frontmatter of its SKILL.md, with every field.",
    files(({ uri }, bytes, _, { offers }) => {
      const entry = offers.skills.get(uri)
      const written = entry && frontmatterOf(bytes)
      const wrong = written && differing(entry, written)
      return wrong && `differs from its entry in the field ${show(wrong)} of the frontmatter`
    })
  ),
  skillRule(
    "skill-file-readable",
    "files.readable",
    "reading-skill-content",
    "Every file of a skill can be read as a resource.",
    readable
  ),
  skillRule(
    "skill-file-unlisted",
    "files.unknown",
    "reading-skill-content",
    "Reading a file that no skill has gets error -32602.",
    unlisted
  ),
  skillRule(
    "skill-file-type",
    "files.type",
    "resource-metadata",
    "The media type of a SKILL.md is text/markdown.",
    files(({ uri }, _, { mimeType }) =>
      rootOf(uri) === undefined || /^text\/markdown\b/.test(String(mimeType))
        ? undefined
        : `has the media type ${show(mimeType)}`
    ),
    "SHOULD"
  ),
  skillRule(
    "skill-file-described",
    "files.described",
    "resource-metadata",
    "The resource of a SKILL.md has the name and the description of its skill.",
    described,
    "SHOULD"
  ),
  skillRule(
    "skill-nested-listed",
    "nested.listed",
    "nested-skills",
    "The files of a nested skill are also files of the skill around it.",
    nested
  ),
  skillRule(
    "skill-directory-children",
    "directory.children",
    "reading-directories",
    "The result has every direct child, and folders are inode/directory.",
    children
  ),
  skillRule(
    "skill-directory-invalid",
    "directory.invalid",
    "reading-directories",
    "Reading a URI that is not a directory gets error -32602.",
    noDirectory
  )
]

export const skills: ReadonlyArray<Rule> = [
  skillRule(
    "skill-methods",
    "capability.methods",
    "capability-negotiation",
    "A server that declares the extension answers skills/list and skills/get.",
    methods(/^skills\/(list|get)$/, () => true)
  ),
  skillRule(
    "skill-directory-method",
    "capability.directory",
    "capability-negotiation",
    "A server that declares directoryRead answers resources/directory/read.",
    methods(/^resources\/directory\/read$/, (model) => at(settingsOf(model), "directoryRead") === true)
  ),
  skillRule(
    "skill-resources-declared",
    "capability.resources",
    "capability-negotiation",
    "A server that declares the extension also declares resources.",
    about(/^skills\/list$/, (_, __, { capabilities }) =>
      capabilities.resources === undefined ? violated("The server declares skills, but no resources") : "pass"
    )
  ),
  ...skillEntries,
  ...ofFiles,
  skillRule(
    "skill-list-pages",
    "list.pages",
    "listing-skills",
    "A cursor leads to the next page, and no entry is split.",
    pages
  ),
  skillRule(
    "skill-list-cache",
    "list.cache",
    "listing-skills",
    "The result of skills/list has ttlMs and cacheScope.",
    cache(/^skills\/list$/)
  ),
  skillRule(
    "skill-get-entry",
    "get.entry",
    "getting-a-skill",
    "The result of skills/get is the entry that a listing has.",
    got
  ),
  skillRule(
    "skill-get-unknown",
    "get.unknown",
    "getting-a-skill",
    "skills/get of a URI that is not a skill gets error -32602.",
    unknown
  ),
  skillRule(
    "skill-get-cache",
    "get.cache",
    "getting-a-skill",
    "The result of skills/get has ttlMs and cacheScope.",
    cache(/^skills\/get$/)
  )
]
