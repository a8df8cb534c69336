/**
 * How often each caller may ask (spec: security considerations of tools and of completion). On by default.
 *
 * A caller is a principal by issuer and subject, else the address that the endpoint knows, else a session. What is over the limit
 * fails with -31429 and says when to come back. Concurrency is bounded apart from this, by the server's `limits`.
 */
import * as Principal from "@effect-mcp/core/Principal"
import * as McpError from "@effect-mcp/protocol/McpError"
import type * as Clock from "effect/Clock"
import { TokenBucket } from "../internal/TokenBucket.ts"
import type * as Middleware from "./Middleware.ts"

/**
 * Requests per second and caller, by method; twice as many may come in one burst. Methods left out are not limited.
 *
 * A request that asks its client in rounds (2026-07-28) counts once, in its first round; later rounds have a budget of ten times as
 * many, so that a state which is sent again and again is bounded, too.
 */
export type Options = { readonly [M in Middleware.Request["method"]]?: number }

/**
 * 1000 calls of tools and 1000 completions per second and caller. Many times what a model or a person at a keyboard sends, so normal
 * use never meets it; it stops a client that loops. Give less where a call is dear.
 */
export const defaults: Options = { "tools/call": 1000, "completion/complete": 1000 }

/** Callers that are remembered at least before those with a full budget are forgotten. */
const callersKept = 1024
/** How many later rounds there may be for a first one. */
const roundsPerRequest = 10

/** What a caller has asked lately, by rule. */
type Buckets = Array<TokenBucket | undefined>

/** A session, or what else a request came by: where it has neither name nor address, it counts by itself. */
export interface Caller {
  /** For the limiter alone. */
  buckets: Buckets | undefined
}

/** What a request is refused with, if it is; `undefined` where it may go on. */
export type RateLimit = (
  method: string,
  resumed: boolean,
  caller: Caller,
  principal: Principal.Principal["Service"],
  address: string | undefined
) => McpError.McpError | undefined

/** What one method's limit is. A rule has two buckets: of first rounds, and of later ones. */
interface Rule {
  readonly index: number
  readonly perSecond: number
}

const excess = (method: string, resumed: boolean, perSecond: number, retryAfterMs: number): McpError.McpError =>
  McpError.limitExceeded(
    `Too many requests: ${resumed ? "later rounds of " : ""}${method} at most ${perSecond} times a second for one caller; ` +
      `try again in ${retryAfterMs} ms`,
    { limit: "rateLimit", allowed: perSecond, retryAfterMs }
  )

/** Counts by the clock of the server. */
export const make = (options: Options | false, clock: Clock.Clock): RateLimit => {
  const rules = new Map<string, Rule>(
    Object.entries(options === false ? {} : options).map(([method, perSecond], n) => [
      method,
      { index: 2 * n, perSecond }
    ])
  )
  const named = new Map<string, Buckets>()
  let sweepAt = callersKept
  const forget = (now: number): void => {
    // A full bucket is as good as a new one, so memory is bounded by who asked lately.
    for (const [name, buckets] of named) {
      if (buckets.every((bucket) => bucket?.isFull(now) !== false)) named.delete(name)
    }
    // Looked through again only once there are twice as many, so that a new caller costs little however many there are.
    sweepAt = Math.max(callersKept, 2 * named.size)
  }
  const bucketsOf = (name: string, now: number): Buckets => {
    const known = named.get(name)
    if (known !== undefined) return known
    if (named.size >= sweepAt) forget(now)
    const buckets: Buckets = []
    named.set(name, buckets)
    return buckets
  }
  return (method, resumed, caller, principal, address) => {
    const rule = rules.get(method)
    if (rule === undefined) return undefined
    const now = clock.currentTimeMillisUnsafe()
    const name = Principal.callerKey(principal, address)
    const buckets = name === undefined ? (caller.buckets ??= []) : bucketsOf(name, now)
    const index = resumed ? rule.index + 1 : rule.index
    const perSecond = resumed ? rule.perSecond * roundsPerRequest : rule.perSecond
    const bucket = (buckets[index] ??= new TokenBucket(perSecond, now))
    return bucket.take(now) ? undefined : excess(method, resumed, perSecond, bucket.wait(now))
  }
}
