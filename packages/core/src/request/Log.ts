/**
 * Log messages for the client (spec: server/utilities/logging).
 *
 * Only messages of the client's level or above are sent. Where the outbox is full they are dropped and counted. The server forwards
 * `Effect.log` of a handler, message and annotations only; causes stay on stderr.
 */
import type { LoggingLevel } from "@effect-mcp/protocol/model/Logging"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import type * as LogLevel from "effect/LogLevel"
import * as References from "effect/References"

/** Log messages to the client of the running request. */
export class Log extends Context.Service<
  Log,
  {
    /** `data` is any JSON value; `logger` names the part of the server that logs. Never waits. */
    readonly log: (level: LoggingLevel, data: unknown, logger?: string) => Effect.Effect<void>
    /** The same outside of an Effect: for a Logger. */
    readonly logUnsafe: (level: LoggingLevel, data: unknown, logger?: string) => void
  }
>()("@effect-mcp/core/Log") {}

/** Drops every message. */
export const none: Log["Service"] = { log: () => Effect.void, logUnsafe: () => {} }

/** A `Log` that drops every message, for handlers outside of a request. */
export const layerNone: Layer.Layer<Log> = Layer.succeed(Log, none)

const at =
  (level: LoggingLevel) =>
  (data: unknown, logger?: string): Effect.Effect<void, never, Log> =>
    Effect.flatMap(Log, (service) => service.log(level, data, logger))

/** Logs detail for developers. */
export const debug = at("debug")
/**
 * Logs that work proceeds. The other levels, from `debug` to `emergency` (RFC 5424), have functions as well.
 *
 * @example
 * ```ts
 * import { Log } from "@effect-mcp/core"
 * import { Effect } from "effect"
 *
 * export const index = Effect.gen(function* () {
 *   yield* Log.info({ files: 12 }, "indexer")
 *   yield* Effect.log("Forwarded to the client as well")
 * })
 * ```
 */
export const info = at("info")
/** Logs a normal event that matters. */
export const notice = at("notice")
/** Logs a condition that may become an error. */
export const warning = at("warning")
/** Logs an error of one operation. */
export const error = at("error")
/** Logs that a component failed. */
export const critical = at("critical")
/** Logs a condition that needs action at once. */
export const alert = at("alert")
/** Logs that the system is unusable. */
export const emergency = at("emergency")

const levels: { readonly [level in LogLevel.LogLevel]: LoggingLevel } = {
  All: "debug",
  Trace: "debug",
  Debug: "debug",
  Info: "info",
  Warn: "warning",
  Error: "error",
  Fatal: "critical",
  None: "debug"
}

/** The log annotations of the code that calls a handler: they are not sent to the client. */
export const callerAnnotations = Context.Reference<{ readonly [key: string]: unknown }>(
  "@effect-mcp/core/Log/callerAnnotations",
  {
    defaultValue: () => ({})
  }
)

/**
 * Forwards `Effect.log` of a handler to its `Log`: the message and the handler's own annotations, never a cause. Outside of a request it
 * does nothing.
 */
export const forwarder: Logger.Logger<unknown, void> = Logger.make(({ fiber, logLevel, message }) => {
  const log: Log["Service"] | undefined = fiber.context.mapUnsafe.get(Log.key)
  if (log === undefined) return
  const data = Array.isArray(message) && message.length === 1 ? message[0] : message
  const around = fiber.getRef(callerAnnotations)
  const own = Object.entries(fiber.getRef(References.CurrentLogAnnotations)).filter(
    ([key, value]) => around[key] !== value
  )
  log.logUnsafe(levels[logLevel], own.length === 0 ? data : { message: data, ...Object.fromEntries(own) })
})
