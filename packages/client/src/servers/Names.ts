/** How the tools and prompts of several servers are named in one list. */
import * as Data from "effect/Data"

export type Kind = "tool" | "prompt"

/**
 * `prefix`: the name of the server, `_`, and its own name for the tool or prompt. One that begins with the name of another server and `_` is
 * left out: no server can pass its tools off as those of another. `refuse`: its own name; two equal ones fail the list. A
 * function: what it gives; of two equal names the one of the earlier server counts, and the other is left out.
 */
export type Naming = "prefix" | "refuse" | ((name: string, server: string, kind: Kind) => string)

/** Two servers have a tool or prompt of one name, and the program refuses that. */
export class NameClash extends Data.TaggedError("NameClash")<{
  readonly name: string
  readonly servers: readonly [string, string]
  readonly message: string
}> {}

/** The name in the list of all servers. */
export const nameOf = (names: Naming, server: string, kind: Kind, name: string): string => {
  if (names === "refuse") return name
  return names === "prefix" ? `${server}_${name}` : names(name, server, kind)
}

/** Whether the name in the list of all servers names a server of the table other than that which listed it. */
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
