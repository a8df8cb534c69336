/**
 * Tracks callers' rate limit usage across all of a server's nodes. `@effect-mcp/nodes` implements it on Postgres and Redis. By default each
 * node counts separately.
 *
 * Requests never wait for the store. Each node counts locally and syncs with the store after every twentieth of a second's budget.
 * Together, the nodes admit as many requests as a single node would, plus at most one twentieth for each additional node. If the store is
 * unavailable, each node falls back to its local count.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { TokenBucket } from "../internal/TokenBucket.ts"
import type { NodesUnavailable } from "../session/SessionDirectory.ts"

/** Tokens that a node has taken from a bucket since its last report. */
export interface Use {
  /** Identifies the server, method and caller. */
  readonly bucket: string
  readonly used: number
  /** Tokens added per second. A bucket's capacity is twice that. */
  readonly perSecond: number
}

/** Tracks rate limit usage across a server's nodes. Fails with `NodesUnavailable` if the store doesn't respond. */
export class RateLimitStore extends Context.Service<
  RateLimitStore,
  {
    /**
     * Subtracts the used tokens from each bucket, atomically per bucket. Returns the tokens left in each, which is negative if too many
     * were used.
     */
    readonly settle: (uses: ReadonlyArray<Use>) => Effect.Effect<ReadonlyArray<number>, NodesUnavailable>
  }
>()("@effect-mcp/server/RateLimitStore") {}

/** Creates a store shared by nodes in the same process. */
export const makeMemory = (): RateLimitStore["Service"] => {
  const buckets = new Map<string, TokenBucket>()
  return {
    settle: (uses) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        for (const [name, bucket] of buckets) if (bucket.isFull(now)) buckets.delete(name)
        return uses.map(({ bucket: name, perSecond, used }) => {
          const bucket = buckets.get(name) ?? new TokenBucket(perSecond, now)
          buckets.set(name, bucket)
          bucket.set(bucket.level(now) - used, now)
          return bucket.level(now)
        })
      })
  }
}
