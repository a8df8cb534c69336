/**
 * Limits how often each caller can send requests (spec: security considerations of tools and of completion). Enabled by default.
 *
 * A caller is a principal (issuer and subject), or else the address that the endpoint reports, or else a session. A request over the limit
 * fails with -31429, and the error's `data.retryAfterMs` says how long to wait before trying again. To limit concurrent requests, see
 * `Limits`. To share one count among several nodes, provide a `RateLimitStore`.
 */
import type { ReceivedRequest } from "@effect-mcp/core/Peer"
import * as Principal from "@effect-mcp/core/Principal"
import * as McpError from "@effect-mcp/protocol/McpError"
import type * as Method from "@effect-mcp/protocol/Method"
import * as MethodInfo from "@effect-mcp/protocol/MethodInfo"
import { type Buckets, TokenBucket } from "../internal/TokenBucket.ts"
import type { BucketSync } from "./BucketSync.ts"

/**
 * Requests per second for each caller, by method, including extension methods. Bursts can be twice as large. Methods that aren't listed
 * have no limit, unless their extension sets one (`rateLimit` in `Extensions.layer`). To remove an extension's limit, list its method as
 * `undefined`.
 *
 * A request that asks its client in rounds (2026-07-28) counts once, in its first round. Later rounds have a separate budget ten times as
 * large, which stops a client from sending the same state over and over.
 *
 * @example
 * ```ts
 * import { McpServer, RateLimit } from "@effect-mcp/server"
 * import { Layer } from "effect"
 *
 * export const server = McpServer.layer({
 *   name: "search",
 *   version: "1.0.0",
 *   features: Layer.empty,
 *   rateLimit: { ...RateLimit.defaults, "tools/call": 10 }
 * })
 * ```
 */
export type Options = { readonly [M in keyof Method.ClientRequests]?: number } & {
  readonly [method: string]: number | undefined
}

const defaultPerSecond = 1000

/**
 * 1000 requests per second per caller for the methods that the specification says to limit: `tools/call` and `completion/complete`. A model
 * or a person sends far fewer, so the default only stops clients stuck in a loop. Set a lower limit if your tools are expensive.
 */
export const defaults: Options = Object.fromEntries(
  MethodInfo.requestsWith("rateLimited").map((method) => [method, defaultPerSecond])
)

/** Number of callers to remember before forgetting callers whose budgets are full. */
const callersKept = 1024
/** Number of later rounds allowed per first round. */
const roundsPerRequest = 10

/** Rate limit buckets for a caller without a principal or an address: a session, or the origin of a request without a session. */
export interface Account {
  /** Written only by the rate limiter. */
  buckets: Buckets | undefined
}

/** The limit for one method. Each caller has two buckets: one for first rounds and one for later rounds. */
export interface MethodLimit {
  readonly method: string
  readonly index: number
  readonly perSecond: number
}

const excess = (
  { method }: MethodLimit,
  resumed: boolean,
  perSecond: number,
  retryAfterMs: number
): McpError.McpError =>
  McpError.limitExceeded(
    `Too many requests: each caller may send ${perSecond} ${resumed ? "resumed " : ""}${method} requests per second. ` +
      `Try again in ${retryAfterMs} ms`,
    { limit: "rateLimit", allowed: perSecond, retryAfterMs }
  )

/**
 * Returns a request's arrival time if an observer recorded it and the request is handled synchronously on arrival, which saves reading the
 * clock again. Returns `undefined` if the request had to wait, because it then counts from when it is handled.
 */
export const arrivalOf = ({ arrived = 0, waited = 0 }: ReceivedRequest, eager: boolean): number | undefined =>
  eager && waited === 0 && arrived !== 0 ? arrived : undefined

/** Counts requests using the server's clock. */
export class RateLimit {
  private readonly rules = new Map<string, MethodLimit | undefined>()
  private readonly isOff: boolean
  /** Limits set by extensions, keyed by method and rate. */
  private readonly usual = new Map<string, MethodLimit>()
  private made = 0
  private readonly now: () => number
  private readonly named = new Map<string, Buckets>()
  private sweepAt = callersKept
  private readonly settling: BucketSync | undefined

  /** `now` returns monotonic milliseconds. `settling` shares buckets with other nodes for callers that have a principal or an address. */
  constructor(options: Options | false, now: () => number, settling?: BucketSync) {
    this.isOff = options === false
    this.now = now
    this.settling = settling
    for (const [method, perSecond] of Object.entries(options === false ? {} : options)) {
      this.rules.set(method, perSecond === undefined ? undefined : this.rule(method, perSecond))
    }
  }

  private rule(method: string, perSecond: number): MethodLimit {
    return { method, index: 2 * this.made++, perSecond }
  }

  /**
   * Returns a method's limit, or `undefined` if it has none. `usual` is the extension's limit, used if the options don't list the method.
   */
  ruleOf(method: string, usual?: number): MethodLimit | undefined {
    if (this.isOff || usual === undefined || this.rules.has(method)) return this.rules.get(method)
    const key = `${method} ${usual}`
    const rule = this.usual.get(key) ?? this.rule(method, usual)
    this.usual.set(key, rule)
    return rule
  }

  /**
   * Counts a request. Pass `now` if you have already read the clock. Returns an error if the request exceeds the limit, or `undefined` if
   * it may run.
   */
  take(
    rule: MethodLimit,
    resumed: boolean,
    account: Account,
    principal: Principal.Principal["Service"],
    address: string | undefined,
    now = this.now()
  ): McpError.McpError | undefined {
    const name = Principal.callerKey(principal, address)
    const buckets = name === undefined ? (account.buckets ??= []) : this.bucketsOf(name, now)
    const index = resumed ? rule.index + 1 : rule.index
    const perSecond = resumed ? rule.perSecond * roundsPerRequest : rule.perSecond
    const bucket = (buckets[index] ??=
      name === undefined || this.settling === undefined
        ? new TokenBucket(perSecond, now)
        : this.settling.bucket(rule.method, resumed, name, perSecond, now))
    return bucket.take(now) ? undefined : excess(rule, resumed, perSecond, bucket.wait(now))
  }

  private bucketsOf(name: string, now: number): Buckets {
    const known = this.named.get(name)
    if (known !== undefined) return known
    if (this.named.size >= this.sweepAt) this.forget(now)
    const buckets: Buckets = []
    this.named.set(name, buckets)
    return buckets
  }

  /** Forgets callers whose buckets are full, because a new bucket would be full as well. */
  private forget(now: number): void {
    for (const [name, buckets] of this.named) {
      if (buckets.every((bucket) => bucket?.isFull(now) !== false)) this.named.delete(name)
    }
    // Sweeps again at twice as many callers, so that a new caller costs little however many there are.
    this.sweepAt = Math.max(callersKept, 2 * this.named.size)
  }
}
