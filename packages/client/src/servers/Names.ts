/** Names of tools and prompts of several servers in one list. */
import * as Data from "effect/Data"

export type Kind = "tool" | "prompt"

/**
 * How to name tools and prompts in a merged list.
 *
 * - `prefix`: the name of the server, `_`, then the item's own name. An item whose name starts with the name of another server and `_` is
 *   left out, so that no server can pass off its tools as another server's.
 * - `refuse`: the item's own name. Listing fails with `NameClash` if two names are equal.
 * - A function: the name that it returns. If two names are equal, the item of the later server is left out.
 */
export type Naming = "prefix" | "refuse" | ((name: string, server: string, kind: Kind) => string)

/** Two servers have a tool or prompt with the same name, and `names` is `refuse`. */
export class NameClash extends Data.TaggedError("NameClash")<{
  readonly name: string
  readonly servers: readonly [string, string]
  readonly message: string
}> {}

/** Returns the name of an item in the merged list. */
export const nameOf = (names: Naming, server: string, kind: Kind, name: string): string => {
  if (names === "refuse") return name
  return names === "prefix" ? `${server}_${name}` : names(name, server, kind)
}

/** True if a name in the merged list refers to a server of the table other than the server that listed it. */
export const isOfAnother = (names: Naming, name: string, server: string, all: Iterable<string>): boolean => {
  if (names !== "prefix") return false
  for (const other of all) if (other.length > server.length && name.startsWith(`${other}_`)) return true
  return false
}

export const clash = (kind: Kind, name: string, servers: readonly [string, string]): NameClash =>
  new NameClash({
    name,
    servers,
    message: `${servers.join(" and ")} both have a ${kind} named ${JSON.stringify(name)}: let \`names\` tell them apart, or leave one out`
  })
