/**
 * The rules of the fuzzers, which check any server and any client against statements in the ledger.
 */
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { root } from "./Results.ts"

/** The fields of a rule that identify the statement it checks. */
export interface FuzzRule {
  readonly name: string
  /** The id in the ledger, or `undefined` for a rule about robustness. */
  readonly requirement?: string | undefined
}

const folder = join(root, "packages/fuzz/src")
const urlOf = (file: string): string => pathToFileURL(join(folder, file)).href

/** Returns all rules of the fuzzers. */
export const all = async (): Promise<ReadonlyArray<FuzzRule>> => {
  const servers: { readonly all: ReadonlyArray<FuzzRule> } = await import(urlOf("rules/all.ts"))
  const clients: { readonly clientRules: ReadonlyArray<FuzzRule> } = await import(urlOf("client/rules/clientRules.ts"))
  return [...servers.all, ...clients.clientRules]
}

/** Returns the names of the rules by the ids that they cite. */
export const byRequirement = (rules: ReadonlyArray<FuzzRule>): ReadonlyMap<string, ReadonlyArray<string>> => {
  const names = new Map<string, ReadonlyArray<string>>()
  for (const { name, requirement } of rules) {
    if (requirement !== undefined) names.set(requirement, [...(names.get(requirement) ?? []), name])
  }
  return names
}
