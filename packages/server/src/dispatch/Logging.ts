/**
 * Log messages to clients (spec: server/utilities/logging), filtered by level and rate limited.
 *
 * A message is sent if its level is at least the level that the client set, or else the server's default. Each session
 * has a budget per second. Messages are dropped if they exceed the budget or the transport is full, and the next
 * message reports how many were dropped.
 */
import type { Log } from "@effect-mcp/core/Log"
import { Spans } from "@effect-mcp/core/internal/peers"
import type { ReceivedRequest } from "@effect-mcp/core/Peer"
import type { Sink } from "@effect-mcp/core/Transport"
import { isAtLeast, type LoggingLevel } from "@effect-mcp/protocol/model/Logging"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { type LogBudget, TokenBucket } from "../internal/TokenBucket.ts"

export interface Options {
  /** Lowest level to send until the client sets one. Default `info`. */
  readonly level?: LoggingLevel | undefined
  /** Messages per second for each session. Bursts can be twice as large. Default 100. */
  readonly perSecond?: number | undefined
  /** Changes a message's data before it is sent. Return `undefined` to drop the message. By default data is sent unchanged. */
  readonly redact?: ((data: unknown, level: LoggingLevel) => unknown) | undefined
}

/** A session, or the origin of a request without one. */
export interface LogPayer {
  /** Written only by this module. */
  logBudget: LogBudget | undefined
}

export interface Logging {
  /**
   * Creates the log for a single request, whose messages are sent on the request's own stream. `level` returns the lowest level to send, or
   * `undefined` to send nothing. Messages count against the budget of `payer`.
   */
  readonly forRequest: (
    payer: LogPayer,
    received: ReceivedRequest,
    level: () => LoggingLevel | undefined
  ) => Log["Service"]
  /** Lowest level to send if the session has not called `logging/setLevel`. */
  readonly fallback: LoggingLevel
}

/** Converts data to JSON. For an error, only the name and message are kept, because its stack and cause must not reach a client. */
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
    return "(not a JSON value)"
  }
}

/** Creates the logging service with its budgets and levels. */
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
          const data = `Dropped ${budget.dropped} log messages`
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
