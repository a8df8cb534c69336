/**
 * Log messages for the client (spec: server/utilities/logging).
 *
 * Sends only what the client's level admits. Logs are hints: on a wire that does not move they are dropped, and counted. `Effect.log`
 * inside a handler is forwarded here by the server, message and annotations only; causes stay on stderr.
 */
import type { LoggingLevel } from "@effect-mcp/protocol/model/Logging"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import type * as LogLevel from "effect/LogLevel"
import * as References from "effect/References"

export class Log extends Context.Service<
  Log,
  {
    /** `data` is any JSON value; `logger` names the part of the server that speaks. Never waits. */
    readonly log: (level: LoggingLevel, data: unknown, logger?: string) => Effect.Effect<void>
    /** The same for code that is not an Effect: a Logger. */
    readonly logUnsafe: (level: LoggingLevel, data: unknown, logger?: string) => void
  }
>()("@effect-mcp/core/Log") {
  /** Drops everything. */
  static readonly layerNone: Layer.Layer<Log> = Layer.sync(Log, () => none)
}

export const none: Log["Service"] = { log: () => Effect.void, logUnsafe: () => {} }

const at =
  (level: LoggingLevel) =>
  (data: unknown, logger?: string): Effect.Effect<void, never, Log> =>
    Effect.flatMap(Log, (service) => service.log(level, data, logger))

export const debug = at("debug")
export const info = at("info")
export const notice = at("notice")
export const warning = at("warning")
export const error = at("error")
export const critical = at("critical")
export const alert = at("alert")
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

/** The annotations around a handler, made by whoever called it: they are not for the client. */
export const callerAnnotations = Context.Reference<{ readonly [key: string]: unknown }>(
  "@effect-mcp/core/Log/callerAnnotations",
  {
    defaultValue: () => ({})
  }
)

/**
 * Passes what a handler logs by `Effect.log` on to its `Log`: the message and the handler's own annotations, never a cause. Outside
 * of a request it does nothing.
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
