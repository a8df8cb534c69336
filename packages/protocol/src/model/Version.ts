/**
 * Versions of the specification. `MethodInfo` uses them to say when a method was added. `Revision` defines the contents
 * of each version.
 */

/** A revision's version, which is its date. Oldest first. */
export type Version = "2024-11-05" | "2025-03-26" | "2025-06-18" | "2025-11-25" | "2026-07-28"

/** Version of a revision with sessions. */
export type OlderVersion = Exclude<Version, "2026-07-28">

/** The range of revisions that include a method. Both ends are inclusive and optional. */
export interface Dated {
  /** First revision that includes the method. Default: the oldest revision. */
  readonly since?: Version
  /** Last revision that includes the method. Default: the newest revision. */
  readonly until?: Version
}
