/**
 * One dated wire format: a table of codecs between the dated wire and the canonical model, and the dated rules.
 *
 * The canonical model holds what any revision can say. A codec's `Encoded` side is what travels; its `Type` side is what every other
 * module works with. Codecs that do not differ between revisions are the same object.
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
/** Every revision this library speaks, oldest first. */
export const all: ReadonlyArray<Revision> = [...stateful, ...stateless]
/** The revisions in which a server may ask its user, oldest first. */
export const withElicitation: ReadonlyArray<Revision> = all.filter((revision) => revision.rules.elicitation.form)
/** The newest revision that `initialize` negotiates. */
export const latestStateful: Revision = v2025_11_25.revision

const byVersion = new Map<string, Revision>(all.map((revision) => [revision.version, revision]))
/** The revision of that name, of either era. */
export const get = (version: string): Revision | undefined => byVersion.get(version)
