/**
 * How long a read or list result stays fresh, and which callers may share it (spec 2026-07-28: server/utilities/caching).
 *
 * Older revisions have no fields for it, so the hint is not sent.
 */
import * as Duration from "effect/Duration"

/** A caching hint. Without a hint, a result is immediately stale and private. */
export interface CacheHint {
  /** How long the result stays fresh. Default `0`: it is immediately stale. */
  readonly timeToLive?: Duration.Input | undefined
  /** `public` lets caches share the result between users, so it must be the same for everyone. Default `private`. */
  readonly scope?: "public" | "private" | undefined
}

/** Converts a hint to result fields. The time is in milliseconds and capped at the largest safe integer. */
export const fields = ({ scope = "private", timeToLive = 0 }: CacheHint) => ({
  ttlMs: Math.min(Math.round(Duration.toMillis(Duration.fromInputUnsafe(timeToLive))), Number.MAX_SAFE_INTEGER),
  cacheScope: scope
})

/** Returns the cache fields for a read result. A resource that only some callers can see is always private, whatever its hint says. */
export const ofRead = ({ cache, visible }: { readonly cache?: CacheHint | undefined; readonly visible?: unknown }) =>
  cache && fields(visible === undefined ? cache : { ...cache, scope: "private" })
