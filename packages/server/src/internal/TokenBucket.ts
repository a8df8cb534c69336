/**
 * A budget per second, with room for a burst of two seconds' worth. Times are in milliseconds.
 *
 * Used instead of the `RateLimiter` in `effect/persistence`, where each `consume` is an effect on a store and every request would pay for a
 * fiber step. Here it is a function call, and a bucket that is full again can be forgotten.
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

  /** Returns the number of tokens. */
  level(now: number): number {
    this.tokens = Math.min(2 * this.perSecond, this.tokens + (Math.max(0, now - this.at) / 1000) * this.perSecond)
    this.at = now
    return this.tokens
  }

  /** Sets the number of tokens. */
  set(tokens: number, now: number): void {
    this.tokens = Math.min(2 * this.perSecond, tokens)
    this.at = now
  }

  /** Takes a token. Returns false if there is none. */
  take(now: number): boolean {
    if (this.level(now) < 1) return false
    this.tokens--
    return true
  }

  /** Returns the time until there is a token. */
  wait(now: number): number {
    return Math.max(0, Math.ceil(((1 - this.level(now)) / this.perSecond) * 1000))
  }

  isFull(now: number): boolean {
    return this.level(now) === 2 * this.perSecond
  }
}

/** The budget for log messages: its tokens, and the number of messages dropped since the last one was sent. */
export interface LogBudget {
  readonly bucket: TokenBucket
  dropped: number
}

/** One caller's buckets, by the index of their rule. */
export type Buckets = Array<TokenBucket | undefined>
