/**
 * How long, and by whom, what a server answers may be kept (spec 2026-07-28: server/utilities/caching). Older revisions have no words
 * for it and leave it out.
 */
import * as Duration from "effect/Duration"

/** `public` may be shared between users: only for what is the same for all of them. */
export interface CacheHint {
  /** How long the answer stays fresh. Default not at all. */
  readonly timeToLive?: Duration.Input | undefined
  /** Default `private`. */
  readonly scope?: "public" | "private" | undefined
}

/** One hint per list; what has none is stale at once and private. */
export interface Hints {
  readonly tools?: CacheHint | undefined
  readonly prompts?: CacheHint | undefined
  readonly resources?: CacheHint | undefined
  readonly resourceTemplates?: CacheHint | undefined
  readonly discover?: CacheHint | undefined
}

/** The hint as fields of a result. */
export const fields = ({ scope = "private", timeToLive = 0 }: CacheHint = {}) => ({
  // A number on the wire, for ever or not.
  ttlMs: Math.min(Math.round(Duration.toMillis(Duration.fromInputUnsafe(timeToLive))), Number.MAX_SAFE_INTEGER),
  cacheScope: scope
})
