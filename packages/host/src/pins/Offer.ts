/**
 * Everything a server offers that a model reads: its identity, instructions, tools, prompts, resources, templates and skills.
 *
 * Items are kept as the server sends them in the negotiated revision.
 */
import type { ClientError } from "@effect-mcp/client/ClientError"
import { type Client, listOf } from "@effect-mcp/client/McpClient"
import { isSame } from "@effect-mcp/core/internal/schemaDiff"
import { type ListName, lists } from "@effect-mcp/protocol/MethodInfo"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as McpError from "@effect-mcp/protocol/McpError"
import { entriesOf } from "@effect-mcp/skills/internal/listing"
import { SkillsExtension } from "@effect-mcp/skills/SkillsExtension"
import * as Effect from "effect/Effect"
import * as Record from "effect/Record"
import * as Stream from "effect/Stream"
import * as Struct from "effect/Struct"

/** A list that can be pinned: one of the protocol's lists, or the skills of the Skills extension. */
export type PinnedList = ListName | "skills"

/** Describes a list that can be pinned. */
export interface PinnedListInfo {
  readonly method: string
  /** The field that identifies an item. */
  readonly key: string
  /** The noun for an item. */
  readonly noun: string
  /** True if a server with these capabilities has the list. */
  readonly isDeclared: (capabilities: JsonObject) => boolean
}

const skills: PinnedListInfo = {
  method: SkillsExtension.requests.list.method,
  key: "uri",
  noun: "skill",
  isDeclared: ({ extensions }) => isJsonObject(extensions) && extensions[SkillsExtension.id] !== undefined
}

/** The lists that can be pinned, by name. */
export const pinnedLists: { readonly [L in PinnedList]: PinnedListInfo } = {
  ...Record.map(lists, ({ capability, key, method, noun }) => ({
    method,
    key,
    noun,
    isDeclared: (capabilities: JsonObject) => capabilities[capability] !== undefined
  })),
  skills
}

/** A list's items by name, URI or URI template. */
export type OfferedItems = ReadonlyMap<string, JsonObject>

/** A server's offer. A list that was never read is missing. */
export interface Offer {
  /** The name that the server reports. */
  readonly name?: string | undefined
  readonly version?: string | undefined
  readonly instructions?: string | undefined
  readonly lists: ReadonlyMap<PinnedList, OfferedItems>
}

/** An offer with nothing in it. */
export const empty: Offer = { lists: new Map() }

/** Names of all lists. */
export const listNames: ReadonlyArray<PinnedList> = Struct.keys(pinnedLists)

/** Returns the field that identifies a list item, or `undefined` if the item lacks it. */
export const keyOf = (list: PinnedList, item: unknown): string | undefined => {
  const key = isJsonObject(item) ? item[pinnedLists[list].key] : undefined
  return typeof key === "string" ? key : undefined
}

const itemsOf = (client: Client, list: PinnedList): Effect.Effect<ReadonlyArray<unknown>, ClientError> => {
  if (list === "skills") return entriesOf(client)
  const items: Stream.Stream<object, ClientError> = listOf(client, list)
  return Stream.runCollect(items)
}

/** Reads a server's whole offer. A list that the server declares but doesn't have is empty. */
export const read = Effect.fnUntraced(function* (client: Client): Effect.fn.Return<Offer, ClientError> {
  const all = new Map<PinnedList, OfferedItems>()
  for (const name of listNames) {
    const listed = pinnedLists[name].isDeclared({ ...client.serverCapabilities })
      ? yield* Effect.catch(itemsOf(client, name), (error) =>
          error._tag === "McpError" && error.code === McpError.MethodNotFound ? Effect.succeed([]) : Effect.fail(error)
        )
      : []
    const known = new Map<string, JsonObject>()
    for (const item of listed) {
      const key = keyOf(name, item)
      if (key !== undefined && isJsonObject(item)) known.set(key, item)
    }
    all.set(name, known)
  }
  const { instructions, serverInfo } = client
  return { name: serverInfo.name, version: serverInfo.version, instructions, lists: all }
})

/** A value that differs between two offers. */
export interface OfferDifference {
  /** The item's list, or `server` for the server's name, version and instructions. */
  readonly list: PinnedList | "server"
  /** Name, URI or URI template of the item. Empty for the server. */
  readonly item: string
  /** JSON Pointer to the value, for example `/inputSchema/properties/text/description`. */
  readonly path: string
  /** The old value, or `undefined` if it is new. */
  readonly before: unknown
  /** The new value, or `undefined` if it was removed. */
  readonly after: unknown
}

/** Compares objects field by field, and other values as a whole. */
const values = (path: string, before: unknown, after: unknown): ReadonlyArray<Omit<OfferDifference, "item" | "list">> =>
  isSame(before, after)
    ? []
    : isJsonObject(before) && isJsonObject(after)
      ? [...new Set([...Object.keys(before), ...Object.keys(after)])]
          .toSorted()
          .flatMap((key) =>
            values(`${path}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`, before[key], after[key])
          )
      : [{ path, before, after }]

/** Returns the old and new values of everything that differs between two offers. Items that were removed are left out. */
export const differences = (before: Offer, after: Offer): ReadonlyArray<OfferDifference> => {
  const identity = ({ instructions, name, version }: Offer): JsonObject => ({ instructions, name, version })
  return [
    ...values("", identity(before), identity(after)).map((found) => ({ list: "server" as const, item: "", ...found })),
    ...listNames.flatMap((list) =>
      [...(after.lists.get(list) ?? [])].flatMap(([item, value]) =>
        values("", before.lists.get(list)?.get(item) ?? {}, value).map((found) => ({ list, item, ...found }))
      )
    )
  ]
}
