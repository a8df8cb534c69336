/**
 * Versions of the specification. `MethodInfo` uses them to say when a method was added. `Revision` defines the contents
 * of each version.
 */

/** A revision's version, which is its date. Oldest first. */
export type Version = "2024-11-05" | "2025-03-26" | "2025-06-18" | "2025-11-25" | "2026-07-28"

/** Version of a revision with sessions. */
export type OlderVersion = Exclude<Version, "2026-07-28">
