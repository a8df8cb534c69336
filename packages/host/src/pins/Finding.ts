/**
 * Differences between a pinned offer and the current one, each with a verdict: harmless, ask the user, or reject.
 *
 * A schema is compared by its meaning, not by its text. Suspicious text and look-alike names are findings even on first use.
 */
import { canonicalJson } from "@effect-mcp/core/internal/digest"
import { isSame, promptArguments, schemas } from "@effect-mcp/core/internal/schemaDiff"
import { excerpt } from "@effect-mcp/protocol/Excerpt"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Offer from "./Offer.ts"
import * as Suspicion from "./Suspicion.ts"

/** Consequence of a finding: none, ask the user, or reject the item. */
export type PinVerdict = "harmless" | "ask" | "refuse"

/** The kind of a finding. */
export type FindingCode =
  | Suspicion.SuspicionCode
  | "added"
  | "annotations"
  | "arguments"
  | "breaking"
  | "identity"
  | "other"
  | "removed"
  | "renamed"
  | "shadows"
  | "size"
  | "storm"
  | "text"
  | "unpinned"

export interface PinFinding {
  /** The server's name in the program's table. */
  readonly server: string
  /** The list of the item, or `server` for the server's identity and instructions. */
  readonly list: Offer.PinnedList | "server"
  /** Name, URI or URI template of the item. Empty for the server. */
  readonly item: string
  readonly verdict: PinVerdict
  readonly code: FindingCode
  readonly message: string
}

/** All pinned servers by name. */
export type PinnedServers = ReadonlyMap<string, Offer.Offer>

/** Maximum size of one declaration, in UTF-16 units of its JSON. */
const maxItem = 262_144
/** Minimum length of a description by which a renamed tool is recognized. */
const telling = 20

const suspicious: ReadonlySet<FindingCode> = new Set(["encoded", "invisible", "shadows", "size", "steers"])

/** True if a finding is about the declaration itself, not about its difference from a pinned one. */
export const isSuspicious = ({ code, verdict }: PinFinding): boolean => verdict === "refuse" && suspicious.has(code)

const order: ReadonlyArray<PinVerdict> = ["harmless", "ask", "refuse"]

/** Returns the strictest verdict of several findings, or `undefined` if there are none. */
export const worst = (findings: ReadonlyArray<Pick<PinFinding, "verdict">>): PinVerdict | undefined =>
  order.findLast((verdict) => findings.some((finding) => finding.verdict === verdict))

/** Names the item in messages: `The tool "add"`. */
const ownerOf = (list: Offer.PinnedList, item: string): string =>
  `The ${Offer.pinnedLists[list].noun} ${excerpt(JSON.stringify(item), 120)}`

type Judged = readonly [verdict: PinVerdict, code: FindingCode, message: string]

/** Removes new requirements, so that a comparison finds other breaking changes. */
const withoutNewRequirements = (before: unknown, after: unknown): unknown => {
  if (!isJsonObject(after) || !Array.isArray(after["required"])) return after
  const required = isJsonObject(before) && Array.isArray(before["required"]) ? before["required"] : []
  return { ...after, required: after["required"].filter((name: unknown) => required.includes(name)) }
}

/** Removes the dialect's name, which servers gain and lose with library versions. Any other text in its place stays. */
const withoutDialect = (schema: unknown): unknown => {
  if (!isJsonObject(schema)) return schema
  const { $schema, ...rest } = schema
  return Suspicion.isDialect($schema) ? rest : schema
}

/** True if two of a prompt's arguments have the same name. */
const hasTwins = (items: unknown): boolean =>
  Array.isArray(items) &&
  new Set(items.map((item: unknown) => (isJsonObject(item) ? item["name"] : item))).size < items.length

const inputChanges = (owner: string, was: unknown, is: unknown): ReadonlyArray<Judged> => {
  const compare = schemas("input schema", true)
  const [before, after] = [withoutDialect(was), withoutDialect(is)]
  const isBreaking = compare(owner, before, withoutNewRequirements(before, after)).some(({ breaking }) => breaking)
  return compare(owner, before, after).map(({ breaking, message }) =>
    isBreaking && breaking ? ["refuse", "breaking", message] : ["ask", "arguments", message]
  )
}

const outputChanges = (owner: string, before: unknown, after: unknown): ReadonlyArray<Judged> =>
  schemas("output schema", false)(owner, before, after).map(({ breaking, message }) =>
    breaking ? ["refuse", "breaking", message] : ["ask", "text", message]
  )

/** Fields that neither a model nor a caller relies on. */
const cosmetic = new Set(["icons", "mimeType", "size"])
/** Fields that a model reads. */
const texts = new Set(["description", "frontmatter", "name", "title"])

/** Maximum number of files to name in a finding. */
const maxNamed = 5

/** Returns the files in a skill's manifest by URI, or `undefined` if the files are generated or a file is listed twice. */
const filesOf = (resources: unknown): ReadonlyMap<string, JsonObject> | undefined => {
  if (!Array.isArray(resources)) return undefined
  const files = new Map<string, JsonObject>()
  for (const file of resources) {
    if (!isJsonObject(file) || typeof file["uri"] !== "string" || files.has(file["uri"])) return undefined
    files.set(file["uri"], file)
  }
  return files
}

/** Compares the files of a skill, which a model reads. Their order has no meaning. */
const fileChanges = (owner: string, before: unknown, after: unknown): ReadonlyArray<Judged> => {
  const [was, is] = [filesOf(before), filesOf(after)]
  if (was === undefined || is === undefined) return [["ask", "text", `${owner} changed its list of files`]]
  const found: ReadonlyArray<readonly [FindingCode, string, ReadonlyArray<string>]> = [
    ["text", "changed", [...is.keys()].filter((uri) => was.has(uri) && !isSame(was.get(uri), is.get(uri)))],
    ["added", "added", [...is.keys()].filter((uri) => !was.has(uri))],
    ["removed", "removed", [...was.keys()].filter((uri) => !is.has(uri))]
  ]
  return found.flatMap(([code, verb, uris]): ReadonlyArray<Judged> => {
    if (uris.length === 0) return []
    const named = uris.slice(0, maxNamed).map((uri) => excerpt(JSON.stringify(uri), 120))
    const more = uris.length > maxNamed ? ` and ${uris.length - maxNamed} more` : ""
    return [["ask", code, `${owner} ${verb} the files ${named.join(", ")}${more}`]]
  })
}

const fieldChanges = (owner: string, field: string, before: unknown, after: unknown): ReadonlyArray<Judged> => {
  if (field === "inputSchema") return inputChanges(owner, before, after)
  if (field === "outputSchema") return outputChanges(owner, before, after)
  if (field === "resources") return fileChanges(owner, before, after)
  const message = `${owner} changed its ${excerpt(field, 60)}`
  if (field === "arguments") {
    const changes = promptArguments(owner, before, after)
    if (hasTwins(after)) return [["ask", "arguments", message]]
    return changes.length === 0
      ? [["harmless", "arguments", message]]
      : changes.map(({ message }) => ["ask", "arguments", message])
  }
  if (cosmetic.has(field)) return [["harmless", "other", message]]
  if (texts.has(field)) return [["ask", "text", message]]
  return [["ask", field === "annotations" ? "annotations" : "other", message]]
}

const changes = (owner: string, before: JsonObject, after: JsonObject): ReadonlyArray<Judged> =>
  [...new Set([...Object.keys(before), ...Object.keys(after)])].toSorted().flatMap((field) => {
    const [was, is] = [before[field], after[field]]
    if (isSame(was, is)) return []
    const found = fieldChanges(owner, field, was, is)
    return found.length > 0
      ? found
      : [["harmless", "other", `${owner} changed only the order of its ${field}`] as const]
  })

/** Returns the parts of a tool that identify it after it was renamed. */
const identityOf = ({ description, inputSchema }: JsonObject): string | undefined =>
  typeof description === "string" && description.length >= telling
    ? canonicalJson([description, inputSchema])
    : undefined

/** A tool or prompt on another server. */
interface Other {
  readonly server: string
  readonly name: string
  readonly item: JsonObject
}

const othersOf = (pinned: PinnedServers, server: string, list: Offer.PinnedList): ReadonlyArray<Other> =>
  Offer.pinnedLists[list].key !== "name"
    ? []
    : [...pinned].flatMap(([name, offer]) =>
        name === server
          ? []
          : Array.from(offer.lists.get(list) ?? [], ([key, item]) => ({ server: name, name: key, item }))
      )

/** Judges the items of a server's list against all pins. */
export interface ListJudge {
  /** Returns the findings about an item. Empty if it is pinned unchanged. */
  readonly item: (key: string, item: JsonObject) => ReadonlyArray<PinFinding>
}

/** Creates the judge for one of a server's lists. `items` holds the list's pinned items, or `undefined` on first use. */
export const judge = (
  pinned: PinnedServers,
  server: string,
  list: Offer.PinnedList,
  items: Offer.OfferedItems | undefined = pinned.get(server)?.lists.get(list)
): ListJudge => {
  const others = othersOf(pinned, server, list)
  const looks = new Map(others.map((other) => [Suspicion.folded(other.name), other]))
  const known = [...(items?.keys() ?? []), ...(pinned.get(server)?.lists.get("tools")?.keys() ?? [])]
  const own = new Set(known.map((name) => name.toLowerCase()))
  const tools = othersOf(pinned, server, "tools").map(({ name }) => name.toLowerCase())
  const foreign = new Set(tools.filter((name) => !own.has(name)))
  const identities = new Map(
    Array.from(items ?? [], ([name, item]) => [identityOf(item), name] as const).filter(([id]) => id !== undefined)
  )

  const shadowing = (owner: string, key: string, item: JsonObject): ReadonlyArray<Judged> => {
    const other = looks.get(Suspicion.folded(key))
    if (other === undefined) return []
    const message = `${owner} has the same name as the ${Offer.pinnedLists[list].noun} ${excerpt(JSON.stringify(other.name), 120)} of ${excerpt(other.server, 60)}`
    // It is normal to have two instances of a server, or two servers with a common name on first use.
    if (isSame(other.item, item)) return []
    if (other.name === key && items === undefined) return [["ask", "shadows", message]]
    return [["refuse", "shadows", message]]
  }

  const isNew = (owner: string, key: string, item: JsonObject): ReadonlyArray<Judged> => {
    const previous = identities.get(identityOf(item))
    if (items !== undefined && previous !== undefined && previous !== key)
      return [["refuse", "renamed", `${owner} is a renamed copy of ${excerpt(JSON.stringify(previous), 120)}`]]
    if (items === undefined) return []
    // Resources are data, and come and go. Any other new item is code.
    return [[list === "resources" ? "harmless" : "ask", "added", `${owner} is new`]]
  }

  return {
    item: (key, item) => {
      const before = items?.get(key)
      if (before !== undefined && isSame(before, item)) return []
      const owner = ownerOf(list, key)
      const judged: Array<Judged> = []
      if (JSON.stringify(item).length > maxItem) {
        judged.push(["refuse", "size", `${owner} is larger than ${maxItem} characters`])
      } else {
        const suspicions = before === undefined ? item : changed(before, item)
        for (const { code, message, path } of Suspicion.inItem(suspicions, foreign))
          judged.push(["refuse", code, `${owner} ${message} at ${excerpt(path, 80)}`])
        if (before === undefined) judged.push(...isNew(owner, key, item), ...shadowing(owner, key, item))
        else judged.push(...changes(owner, before, item))
      }
      return judged.map(([verdict, code, message]) => ({ server, list, item: key, verdict, code, message }))
    }
  }
}

/** Returns the changed fields of an item, because text that the user has accepted is not judged again. */
const changed = (before: JsonObject, after: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(after).filter(([field, value]) => !isSame(before[field], value)))

/** Judges a server's identity and instructions. */
export const ofServer = (
  server: string,
  before: Offer.Offer | undefined,
  after: Pick<Offer.Offer, "instructions" | "name" | "version">
): ReadonlyArray<PinFinding> => {
  const found: Array<Judged> = []
  const { instructions = "", name, version } = after
  if (instructions !== (before?.instructions ?? "")) {
    for (const { code, message } of Suspicion.inText(instructions))
      found.push(["refuse", code, `The server's instructions: the text ${message}`])
    if (before !== undefined) found.push(["ask", "text", "The server changed its instructions"])
  }
  if (before?.name !== undefined && before.name !== name)
    found.push([
      "ask",
      "identity",
      `The server changed its name from ${excerpt(JSON.stringify(before.name))} to ${excerpt(JSON.stringify(name ?? ""))}`
    ])
  if (before?.version !== undefined && before.version !== version)
    found.push([
      "harmless",
      "identity",
      `The server's version changed from ${excerpt(before.version, 60)} to ${excerpt(version ?? "none", 60)}`
    ])
  return found.map(([verdict, code, message]) => ({ server, list: "server", item: "", verdict, code, message }))
}

/**
 * Compares a server's whole offer with its pinned offer, and its names with those that other servers have pinned. If the server isn't
 * pinned, only suspicious items are findings.
 */
export const compare = (pinned: PinnedServers, server: string, after: Offer.Offer): ReadonlyArray<PinFinding> => {
  const before = pinned.get(server)
  return [
    ...ofServer(server, before, after),
    ...Offer.listNames.flatMap((list) => {
      const items = before?.lists.get(list)
      const now = after.lists.get(list) ?? new Map<string, JsonObject>()
      const { item } = judge(pinned, server, list, items)
      const gone = [...(items?.keys() ?? [])].filter((key) => !now.has(key))
      return [
        ...[...now].flatMap(([key, value]) => item(key, value)),
        ...gone.map((key): PinFinding => ({
          server,
          list,
          item: key,
          verdict: "harmless",
          code: "removed",
          message: `${ownerOf(list, key)} was removed`
        }))
      ]
    })
  ]
}
