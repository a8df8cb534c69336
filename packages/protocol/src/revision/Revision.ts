/**
 * The revisions of the specification: for each a table of codecs between its wire format and the canonical model, and its rules.
 *
 * The canonical model holds what any revision can express. A codec's `Encoded` side is the wire format; its `Type` side is what every
 * other module uses. Codecs that do not differ between revisions are the same object.
 */
import type { Revision } from "./types.ts"
import * as v2024_11_05 from "./v2024_11_05.ts"
import * as v2025_03_26 from "./v2025_03_26.ts"
import * as v2025_06_18 from "./v2025_06_18.ts"
import * as v2025_11_25 from "./v2025_11_25.ts"
import * as v2026_07_28 from "./v2026_07_28.ts"

export type * from "./types.ts"

/** The revisions with sessions, oldest first. */
export const stateful: ReadonlyArray<Revision> = [
  v2024_11_05.revision,
  v2025_03_26.revision,
  v2025_06_18.revision,
  v2025_11_25.revision
]
/** The revisions whose requests stand alone, oldest first. */
export const stateless: ReadonlyArray<Revision> = [v2026_07_28.revision]
/** Every supported revision, oldest first. */
export const all: ReadonlyArray<Revision> = [...stateful, ...stateless]
/** The revisions in which a server may ask its user, oldest first. */
export const withElicitation: ReadonlyArray<Revision> = all.filter((revision) => revision.rules.elicitation.form)
/** The newest revision that `initialize` negotiates. */
export const latestStateful: Revision = v2025_11_25.revision

const byVersion = new Map<string, Revision>(all.map((revision) => [revision.version, revision]))
/**
 * The revision with this version, of either era; undefined for an unknown one.
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
