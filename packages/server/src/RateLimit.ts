/**
 * How often each caller may ask (spec: security considerations of tools and of completion).
 *
 * A middleware: give it the methods to limit. A caller is a principal by its subject, or else a session; what is over the limit
 * fails with `LimitExceeded` and says when to come back. Concurrency is bounded apart from this, by the server's `limits`.
 */
import { Principal } from "@effect-mcp/core/Principal"
import { RequestContext } from "@effect-mcp/core/RequestContext"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { TokenBucket } from "./internal/TokenBucket.ts"
import * as Middleware from "./Middleware.ts"

/** Requests per second and caller, by method; twice as many may come in one burst. Methods left out are not limited. */
export type Limits = { readonly [M in Middleware.Request["method"]]?: number }

/** Callers that are remembered before those with a full budget are forgotten. */
const callersKept = 1024

/** Limits the rate of requests for as long as the layer lives. */
export const layer = (limits: Limits): Layer.Layer<never, never, Middleware.MiddlewareRegistry> =>
  Layer.suspend(() => {
    const buckets = new Map<string, TokenBucket>()
    const bucketOf = (key: string, perSecond: number, now: number): TokenBucket => {
      const known = buckets.get(key)
      if (known !== undefined) return known
      // A full bucket is as good as a new one, so memory is bounded by who asked lately.
      if (buckets.size >= callersKept)
        for (const [idle, bucket] of buckets) if (bucket.isFull(now)) buckets.delete(idle)
      const bucket = new TokenBucket(perSecond, now)
      buckets.set(key, bucket)
      return bucket
    }
    return Middleware.layer(({ method }, next) => {
      const perSecond = limits[method]
      if (perSecond === undefined) return next
      return Effect.gen(function* () {
        const { claims, subject } = yield* Principal
        const { sessionId } = yield* RequestContext
        const now = yield* Clock.currentTimeMillis
        const bucket = bucketOf(
          JSON.stringify([method, claims["iss"] ?? null, subject ?? null, subject === undefined ? sessionId : null]),
          perSecond,
          now
        )
        if (bucket.take(now)) return yield* next
        const retryAfterMs = bucket.wait(now)
        return yield* McpError.limitExceeded(`No more than ${perSecond} ${method} per second`, { retryAfterMs })
      })
    })
  })
