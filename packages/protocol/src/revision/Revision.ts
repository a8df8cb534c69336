/**
 * All supported revisions of the specification. Each revision has its rules and a table of codecs between its wire format and the canonical
 * model.
 *
 * The canonical model can express everything that any revision can. A codec's `Encoded` side is the wire format; all other modules use its
 * `Type` side. Revisions share a codec object if their formats are the same.
 */
import type { Revision } from "./types.ts"
import * as v2024_11_05 from "./v2024_11_05.ts"
import * as v2025_03_26 from "./v2025_03_26.ts"
import * as v2025_06_18 from "./v2025_06_18.ts"
import * as v2025_11_25 from "./v2025_11_25.ts"
import * as v2026_07_28 from "./v2026_07_28.ts"

export type * from "./types.ts"

/** Revisions with sessions, oldest first. */
export const stateful: ReadonlyArray<Revision> = [
  v2024_11_05.revision,
  v2025_03_26.revision,
  v2025_06_18.revision,
  v2025_11_25.revision
]
/** Revisions in which every request is self-contained, oldest first. */
export const stateless: ReadonlyArray<Revision> = [v2026_07_28.revision]
/** All supported revisions, oldest first. */
export const all: ReadonlyArray<Revision> = [...stateful, ...stateless]
/** Revisions in which a server can ask the user questions, oldest first. */
export const withElicitation: ReadonlyArray<Revision> = all.filter((revision) => revision.rules.elicitation.form)
/** The newest revision that can be negotiated with `initialize`. */
export const latestStateful: Revision = v2025_11_25.revision

const byVersion = new Map<string, Revision>(all.map((revision) => [revision.version, revision]))
/**
 * Returns the revision with this version, or `undefined` if the version is unknown.
 *
 * @example
 * ```ts
 * import { Revision } from "@effect-mcp/protocol"
 *
 * console.log(Revision.get("2025-06-18")?.era, Revision.get("2026-07-28")?.era, Revision.get("1999-01-01")?.era)
 * // => stateful stateless undefined
 * console.log(Revision.all.filter(({ rules }) => rules.batches).map(({ version }) => version).join())
 * // => 2025-03-26
 * ```
 */
export const get = (version: string): Revision | undefined => byVersion.get(version)
