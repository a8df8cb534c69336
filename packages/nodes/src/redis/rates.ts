/** Rate limit usage by caller, stored as Redis keys that expire once their buckets are full again. */
import type { RateLimitStore } from "@effect-mcp/server/RateLimitStore"
import * as Effect from "effect/Effect"
import { bucketKey } from "../events/bucketKey.ts"
import { settle } from "./scripts.ts"
import { type RedisClient, command } from "./stores.ts"

export const ratesIn = (redis: RedisClient, prefix: string): RateLimitStore["Service"] => ({
  settle: (uses) => {
    const keys = uses.map(({ bucket }) => `${prefix}rate:${bucketKey(bucket)}`)
    const args = uses.flatMap(({ perSecond, used }) => [`${perSecond}`, `${used}`])
    return Effect.map(
      command(() => redis.eval(settle, { keys, arguments: args })),
      (left) => uses.map(({ perSecond }, at) => (Array.isArray(left) ? Number(left[at]) : 2 * perSecond))
    )
  }
})
