/**
 * Sends log messages to the client (spec: server/utilities/logging).
 *
 * Messages below the client's log level are not sent. If the outbox is full, messages are dropped and counted. The server also forwards a
 * handler's `Effect.log` calls, but only the message and annotations; causes stay on stderr.
 */
import type { LoggingLevel } from "@effect-mcp/protocol/model/Logging"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import type * as LogLevel from "effect/LogLevel"
import * as References from "effect/References"

/** Logs to the client that sent the current request. */
export class Log extends Context.Service<
  Log,
  {
    /** Sends a message. `data` is any JSON value; `logger` names the component that logs. Never waits. */
    readonly log: (level: LoggingLevel, data: unknown, logger?: string) => Effect.Effect<void>
    /** Same as `log`, but callable outside an Effect, for use in a Logger. */
    readonly logUnsafe: (level: LoggingLevel, data: unknown, logger?: string) => void
  }
>()("@effect-mcp/core/Log") {}

/** A `Log` that drops every message. */
export const none: Log["Service"] = { log: () => Effect.void, logUnsafe: () => {} }

/** Provides a `Log` that drops every message, for handlers outside a request. */
export const layerNone: Layer.Layer<Log> = Layer.succeed(Log, none)

const at =
  (level: LoggingLevel) =>
  (data: unknown, logger?: string): Effect.Effect<void, never, Log> =>
    Effect.flatMap(Log, (service) => service.log(level, data, logger))

/** Logs details for developers. */
export const debug = at("debug")
/**
 * Logs normal operation, such as the progress of a job. There is a function for each level from `debug` to `emergency` (RFC 5424).
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
/** Logs a normal but significant event. */
export const notice = at("notice")
/** Logs a condition that may become an error. */
export const warning = at("warning")
/** Logs that an operation failed. */
export const error = at("error")
/** Logs that a component failed. */
export const critical = at("critical")
/** Logs a condition that needs immediate action. */
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

/** Log annotations that were set outside the handler. They are not sent to the client. */
export const callerAnnotations = Context.Reference<{ readonly [key: string]: unknown }>(
  "@effect-mcp/core/Log/callerAnnotations",
  {
    defaultValue: () => ({})
  }
)

/**
 * Forwards a handler's `Effect.log` calls to its `Log`: the message and the handler's own annotations, but never a cause. Does nothing
 * outside a request.
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
