/**
 * What the callers of a server have used of its rate limits on all of its nodes. `@effect-mcp/nodes` has it on Postgres and on Redis. Default:
 * each node counts for itself.
 *
 * A node counts by itself, too, and settles with the store in parts of a twentieth of a second's budget: no request waits for the store. So
 * the nodes together admit what one would, and at most that part more for each further node. Where the store does not answer, each node
 * limits by what it has counted itself.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { TokenBucket } from "../internal/TokenBucket.ts"
import type { NodesUnavailable } from "../session/SessionDirectory.ts"

/** What a node has used of a bucket since it last told. */
export interface Use {
  /** Names the server, the method and the caller. */
  readonly bucket: string
  readonly used: number
  /** Tokens that come back in a second; a bucket holds twice as many. */
  readonly perSecond: number
}

/** What all nodes of a server have used of its rate limits; fails with `NodesUnavailable` where the store does not answer. */
export class RateLimitStore extends Context.Service<
  RateLimitStore,
  {
    /** Takes what was used from each bucket, in one step for each; gives the tokens that it has then, below zero where too many were used. */
    readonly settle: (uses: ReadonlyArray<Use>) => Effect.Effect<ReadonlyArray<number>, NodesUnavailable>
  }
>()("@effect-mcp/server/RateLimitStore") {}

/** A store for nodes of one process. */
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
