/**
 * How long the result of a read or a list stays fresh, and for which callers (spec 2026-07-28: server/utilities/caching).
 *
 * Owns the fields of a result that carry the hint. Older revisions have no such fields.
 */
import * as Duration from "effect/Duration"

/** A caching hint. Without one a result is stale at once and private. */
export interface CacheHint {
  /** How long the result stays fresh. Default `0`: not at all. */
  readonly timeToLive?: Duration.Input | undefined
  /** `public`: caches may share the result between users, so it must be the same for all. Default `private`. */
  readonly scope?: "public" | "private" | undefined
}

/** The hint as fields of a result: milliseconds, at most the largest safe integer. */
export const fields = ({ scope = "private", timeToLive = 0 }: CacheHint) => ({
  ttlMs: Math.min(Math.round(Duration.toMillis(Duration.fromInputUnsafe(timeToLive))), Number.MAX_SAFE_INTEGER),
  cacheScope: scope
})

/** The fields of a read: private where only some callers see the resource, whatever the hint says. */
export const ofRead = ({ cache, visible }: { readonly cache?: CacheHint | undefined; readonly visible?: unknown }) =>
  cache && fields(visible === undefined ? cache : { ...cache, scope: "private" })
