/**
 * The rules of the fuzzer, which hold any server against statements of the ledger. Owns where they are.
 */
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { root } from "./Results.ts"

/** The fields of a rule that tell which statement it checks. */
export interface FuzzRule {
  readonly name: string
  /** The id in the ledger; undefined for robustness. */
  readonly requirement?: string | undefined
}

/** Every rule that the fuzzer has. */
export const all = async (): Promise<ReadonlyArray<FuzzRule>> => {
  const file = pathToFileURL(join(root, "packages/testing/src/fuzz/rules/all.ts")).href
  const rules: { readonly all: ReadonlyArray<FuzzRule> } = await import(file)
  return rules.all
}

/** The names of the rules by the id that they cite. */
export const byRequirement = (rules: ReadonlyArray<FuzzRule>): ReadonlyMap<string, ReadonlyArray<string>> => {
  const names = new Map<string, ReadonlyArray<string>>()
  for (const { name, requirement } of rules) {
    if (requirement !== undefined) names.set(requirement, [...(names.get(requirement) ?? []), name])
  }
  return names
}
