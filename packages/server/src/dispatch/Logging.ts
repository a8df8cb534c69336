/**
 * Log messages to clients (spec: server/utilities/logging): which pass, and how many.
 *
 * A message passes when its level is at least the client's, or the server's default where the client set none. Each session has a budget
 * per second: messages over it, or on a transport without room, are dropped, and the next message says how many.
 */
import type { Log } from "@effect-mcp/core/Log"
import * as Spans from "@effect-mcp/core/internal/Spans"
import type { ReceivedRequest } from "@effect-mcp/core/Peer"
import type { Sink } from "@effect-mcp/core/Transport"
import { isAtLeast, type LoggingLevel } from "@effect-mcp/protocol/model/Logging"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { type LogBudget, TokenBucket } from "../internal/TokenBucket.ts"

export interface Options {
  /** The least level that passes until the client sets one. Default `info`. */
  readonly level?: LoggingLevel | undefined
  /** Messages per second and session; a burst may have twice as many. Default 100. */
  readonly perSecond?: number | undefined
  /** Changes the data of a message before it is sent; `undefined` drops the message. Default: data is sent unchanged. */
  readonly redact?: ((data: unknown, level: LoggingLevel) => unknown) | undefined
}

/** A session, or the origin of a request without one. */
export interface LogPayer {
  /** Written by the logging alone. */
  logBudget: LogBudget | undefined
}

export interface Logging {
  /**
   * The log of one request, whose messages travel in the request's own stream. `level` gives the least level that passes; undefined
   * lets no message pass. The messages are charged to the budget of `payer`.
   */
  readonly forRequest: (
    payer: LogPayer,
    received: ReceivedRequest,
    level: () => LoggingLevel | undefined
  ) => Log["Service"]
  /** The least level that passes in a session without `logging/setLevel`. */
  readonly fallback: LoggingLevel
}

/** The data as JSON. An error is its name and message: its stack and its cause must not reach a client. */
const jsonOf = (data: unknown): unknown => {
  if (typeof data === "string") return data
  try {
    const text: string | undefined = JSON.stringify(
      data,
      function (this: { readonly [key: string]: unknown }, key, value) {
        const original = this[key]
        if (original instanceof Error) return `${original.name}: ${original.message}`
        return typeof value === "bigint" ? `${value}` : (value as unknown)
      }
    )
    return text === undefined ? null : JSON.parse(text)
  } catch {
    return "(a value that is no JSON)"
  }
}

/** The budgets and levels of log messages, by the clock. */
export const make = (options: Options, clock: Clock.Clock): Logging => {
  const { level: fallback = "info", perSecond = 100, redact } = options

  const spend = (payer: LogPayer, sink: Sink): LogBudget | undefined => {
    const now = clock.currentTimeMillisUnsafe()
    const budget = (payer.logBudget ??= { bucket: new TokenBucket(perSecond, now), dropped: 0 })
    if (sink.writable() && budget.bucket.take(now)) return budget
    budget.dropped++
    return undefined
  }

  return {
    fallback,
    forRequest: (payer, { request, sink }, threshold) => {
      const sender = Spans.currentSender()
      const send = (params: { readonly level: LoggingLevel; readonly data: unknown; readonly logger?: string }): void =>
        Spans.notify(sink, JsonRpc.notification("notifications/message", params), "data", request.id, sender)
      const logUnsafe: Log["Service"]["logUnsafe"] = (level, data, logger) => {
        const least = threshold()
        if (least === undefined || !isAtLeast(level, least)) return
        const redacted = redact === undefined ? data : redact(data, level)
        if (redact !== undefined && redacted === undefined) return
        const budget = spend(payer, sink)
        if (budget === undefined) return
        if (budget.dropped > 0) {
          const data = `${budget.dropped} log messages were dropped`
          send({ level: isAtLeast("warning", least) ? "warning" : least, logger: "effect-mcp", data })
          budget.dropped = 0
        }
        const leaving = jsonOf(redacted)
        send(logger === undefined ? { level, data: leaving } : { level, logger, data: leaving })
      }
      return { logUnsafe, log: (level, data, logger) => Effect.sync(() => logUnsafe(level, data, logger)) }
    }
  }
}
