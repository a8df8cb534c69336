/** Limits on the size and rate of a view's messages. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

export interface ViewLimits {
  /** Maximum length of a view's message, in characters. A longer one ends the view. Default 4 Mi. */
  readonly messageLength: number
  /**
   * Maximum number of messages per second. After a pause, a view may send twice as many at once. Further requests are rejected, and further
   * notifications dropped. A view that keeps sending them is ended. Default 100.
   */
  readonly messagesPerSecond: number
  /** Maximum number of concurrent requests from a view. Further requests are rejected. Default 16. */
  readonly requests: number
  /** Maximum length of a view's context for the model, as JSON in characters. Default 64 Ki. */
  readonly modelContextLength: number
  /** Maximum length of a view's HTML in characters. Default 8 Mi. */
  readonly htmlLength: number
}

export const defaultLimits: ViewLimits = {
  messageLength: 4 * 1024 * 1024,
  messagesPerSecond: 100,
  requests: 16,
  modelContextLength: 64 * 1024,
  htmlLength: 8 * 1024 * 1024
}

/** Number of rejected messages after which a view is ended, as a multiple of the allowed messages per second. */
const patience = 10

/** The verdict on a message. */
export type RateVerdict = "accepted" | "refused" | "ended"

/** Returns an effect that checks the next message against the rate limit. */
export const makeRate = (perSecond: number): Effect.Effect<Effect.Effect<RateVerdict>> =>
  Effect.map(Clock.currentTimeMillis, (start) => {
    const burst = perSecond * 2
    let tokens = burst
    let refused = 0
    let last = start
    return Effect.map(Clock.currentTimeMillis, (now): RateVerdict => {
      // The system's clock may be set back.
      const earned = (Math.max(0, now - last) / 1000) * perSecond
      last = now
      tokens = Math.min(burst, tokens + earned)
      refused = Math.max(0, refused - earned)
      if (tokens >= 1) {
        tokens--
        return "accepted"
      }
      refused++
      return refused > perSecond * patience ? "ended" : "refused"
    })
  })
