/**
 * Limits how often each caller may send a request (spec: security considerations of tools and of completion). On by default.
 *
 * A caller is a principal by issuer and subject, else the address that the endpoint knows, else a session. A request over the limit
 * fails with -31429; its `data.retryAfterMs` says when to send it again. How many requests run at once is bounded by `Limits`. Several nodes
 * count together where they have a `RateLimitStore`.
 */
import type { ReceivedRequest } from "@effect-mcp/core/Peer"
import * as Principal from "@effect-mcp/core/Principal"
import * as McpError from "@effect-mcp/protocol/McpError"
import type * as Method from "@effect-mcp/protocol/Method"
import * as MethodInfo from "@effect-mcp/protocol/MethodInfo"
import { type Buckets, TokenBucket } from "../internal/TokenBucket.ts"
import type { BucketSync } from "./BucketSync.ts"

/**
 * Requests per second and caller, by method, those of extensions included; twice as many may come in one burst. Methods left out are not
 * limited, but for those of an extension with a limit of its own (`rateLimit` of `Extensions.layer`): that holds unless the method is named
 * here, with undefined for no limit.
 *
 * A request that asks its client in rounds (2026-07-28) counts once, in its first round. Later rounds have a budget of ten times as
 * many, which bounds a client that sends one state again and again.
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
 * 1000 requests per second and caller of each method that the specification wants limited: `tools/call` and `completion/complete`.
 * Many times what a model or a person at a keyboard sends, so it stops only a client that loops. Give less where a call is dear.
 */
export const defaults: Options = Object.fromEntries(
  MethodInfo.requestsWith("rateLimited").map((method) => [method, defaultPerSecond])
)

/** Callers that are remembered before those with a full budget are forgotten. */
const callersKept = 1024
/** How many later rounds a first round may have. */
const roundsPerRequest = 10

/** The account of a caller without name and address: a session, or the origin of a request without one. */
export interface Account {
  /** Written by the limiter alone. */
  buckets: Buckets | undefined
}

/** The limit of one method. It has two buckets per caller: of first rounds, and of later ones. */
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
    `Too many requests: ${resumed ? "later rounds of " : ""}${method} at most ${perSecond} times a second for one caller; ` +
      `try again in ${retryAfterMs} ms`,
    { limit: "rateLimit", allowed: perSecond, retryAfterMs }
  )

/**
 * When a request arrived that is observed, and that is handled within the call that brought it: the clock need not be read again. Undefined
 * for one that has waited since: it counts when it is handled.
 */
export const arrivalOf = ({ arrived = 0, waited = 0 }: ReceivedRequest, eager: boolean): number | undefined =>
  eager && waited === 0 && arrived !== 0 ? arrived : undefined

/** Counts requests by the clock of the server. */
export class RateLimit {
  private readonly rules = new Map<string, MethodLimit | undefined>()
  private readonly isOff: boolean
  /** The rules of extensions, by method and limit. */
  private readonly usual = new Map<string, MethodLimit>()
  private made = 0
  private readonly now: () => number
  private readonly named = new Map<string, Buckets>()
  private sweepAt = callersKept
  private readonly settling: BucketSync | undefined

  /** `now`: monotonic milliseconds. `settling`: of callers with a name or an address, where several nodes share the limits. */
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

  /** Undefined for a method that is not limited. `usual`: the limit of a method that the options do not name. */
  ruleOf(method: string, usual?: number): MethodLimit | undefined {
    if (this.isOff || usual === undefined || this.rules.has(method)) return this.rules.get(method)
    const key = `${method} ${usual}`
    const rule = this.usual.get(key) ?? this.rule(method, usual)
    this.usual.set(key, rule)
    return rule
  }

  /** Counts a request, at `now` where that was read already. The error to refuse it with, or undefined where it may run. */
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

  /** Forgets callers whose buckets are full, which are as good as new ones. */
  private forget(now: number): void {
    for (const [name, buckets] of this.named) {
      if (buckets.every((bucket) => bucket?.isFull(now) !== false)) this.named.delete(name)
    }
    // The next look is at twice as many, so that a new caller costs little however many there are.
    this.sweepAt = Math.max(callersKept, 2 * this.named.size)
  }
}
