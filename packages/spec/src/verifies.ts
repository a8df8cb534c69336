/**
 * How a test says what it proves: requirement ids in its options, where the reporter finds them.
 */
import type { TaskMeta } from "vitest"
import { isRequirementId, type RequirementId } from "./Ledger.ts"

declare module "vitest" {
  interface TaskMeta {
    /** The ids that the test cites. */
    readonly requirements?: ReadonlyArray<string>
  }
}

/** Options of a test that cites requirements; in a title they are its end, ` [tools.call.unknown-tool]`. */
export type Citation = string & { readonly meta: { readonly requirements: ReadonlyArray<RequirementId> } }

/**
 * The options of a test that cites requirements; throws on an unknown id.
 *
 * @example it.effect("An unknown tool is answered -32602", () => ..., verifies("tools.call.unknown-tool"))
 * @example it("An unknown tool is answered -32602", { ...verifies("tools.call.unknown-tool"), timeout: 1000 }, () => ...)
 */
export const verifies = (...ids: readonly [RequirementId, ...ReadonlyArray<RequirementId>]): Citation => {
  const unknown = ids.filter((id) => !isRequirementId(id))
  if (unknown.length > 0) throw new Error(`Not in the requirements ledger: ${unknown.join(", ")}`)
  const options = { meta: { requirements: ids }, toString: () => ` [${ids.join(", ")}]` }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- in a title, options become text by their `toString`
  return options as unknown as Citation
}

const citation = /\s\[([a-z][a-z0-9-]*(?:\.[a-z0-9-]+)+(?:, [a-z][a-z0-9-]*(?:\.[a-z0-9-]+)+)*)\](?=$|\s)/g

/** The ids that a test cites by its options or at the end of its title, in order. */
export const cited = (title: string, meta: Pick<TaskMeta, "requirements">): ReadonlyArray<string> => [
  ...new Set([
    ...(meta.requirements ?? []),
    ...[...title.matchAll(citation)].flatMap((match) => (match[1] ?? "").split(", "))
  ])
]
