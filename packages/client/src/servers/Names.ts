/** Names of tools and prompts from several servers in a merged list. */
import { type ListName, lists } from "@effect-mcp/protocol/MethodInfo"
import * as Data from "effect/Data"
import * as Struct from "effect/Struct"

/** The lists whose items have names, which may clash. */
export type NamedList = { [N in ListName]: (typeof lists)[N]["key"] extends "name" ? N : never }[ListName]

/** An item with a name: a tool or a prompt. */
export type Kind<N extends NamedList = NamedList> = N extends `${infer One}s` ? One : never

const isNamed = (list: ListName): list is NamedList => lists[list].key === "name"

/** The lists whose items have names. */
export const namedLists: ReadonlyArray<NamedList> = Struct.keys(lists).filter(isNamed)

/** Returns the kind of items in a list. */
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the noun is the list's name without its final s
export const kindOf = (list: NamedList): Kind => lists[list].noun as Kind

/**
 * How to name tools and prompts in a merged list.
 *
 * - `prefix`: the server's name, `_`, and the item's own name. An item is left out if its merged name starts with another server's name
 *   and `_`, so that no server can pass off its tools as another server's.
 * - `refuse`: the item's own name. Listing fails with `NameClash` if two items have the same name.
 * - A function: the name it returns. If two items have the same name, the later server's item is left out.
 */
export type Naming = "prefix" | "refuse" | ((name: string, server: string, kind: Kind) => string)

/** Two servers offer a tool or prompt with the same name, and `names` is `refuse`. */
export class NameClash extends Data.TaggedError("NameClash")<{
  readonly name: string
  readonly servers: readonly [string, string]
  readonly message: string
}> {}

/** Returns an item's name in the merged list. */
export const nameOf = (names: Naming, server: string, kind: Kind, name: string): string => {
  if (names === "refuse") return name
  return names === "prefix" ? `${server}_${name}` : names(name, server, kind)
}

/** True if a name in the merged list refers to a server in the table other than the server that listed it. */
export const isOfAnother = (names: Naming, name: string, server: string, all: Iterable<string>): boolean => {
  if (names !== "prefix") return false
  for (const other of all) if (other.length > server.length && name.startsWith(`${other}_`)) return true
  return false
}

export const clash = (kind: Kind, name: string, servers: readonly [string, string]): NameClash =>
  new NameClash({
    name,
    servers,
    message: `${servers.join(" and ")} both have a ${kind} named ${JSON.stringify(name)}. Use \`names\` to distinguish them, or leave one out`
  })
