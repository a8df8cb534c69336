/**
 * A budget per second with room for a burst of two seconds' worth. Times are milliseconds.
 *
 * Used instead of `RateLimiter` of `effect/persistence`: there each `consume` is an effect on a store, a step of a fiber that every
 * request would pay; here it is a call, and a bucket that is full again can be forgotten.
 */
export class TokenBucket {
  private tokens: number
  private at: number
  protected readonly perSecond: number

  constructor(perSecond: number, now: number) {
    this.perSecond = perSecond
    this.tokens = 2 * perSecond
    this.at = now
  }

  /** How many tokens there are. */
  level(now: number): number {
    this.tokens = Math.min(2 * this.perSecond, this.tokens + (Math.max(0, now - this.at) / 1000) * this.perSecond)
    this.at = now
    return this.tokens
  }

  /** Says how many tokens there are. */
  set(tokens: number, now: number): void {
    this.tokens = Math.min(2 * this.perSecond, tokens)
    this.at = now
  }

  /** Takes a token, if there is one. */
  take(now: number): boolean {
    if (this.level(now) < 1) return false
    this.tokens--
    return true
  }

  /** How long until there is a token. */
  wait(now: number): number {
    return Math.max(0, Math.ceil(((1 - this.level(now)) / this.perSecond) * 1000))
  }

  isFull(now: number): boolean {
    return this.level(now) === 2 * this.perSecond
  }
}

/** What pays for log messages: its tokens, and the messages that were dropped since one was sent. */
export interface LogBudget {
  readonly bucket: TokenBucket
  dropped: number
}

/** The buckets of one caller, by the index of their rule. */
export type Buckets = Array<TokenBucket | undefined>
