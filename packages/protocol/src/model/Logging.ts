/** Log messages that a server sends to a client, and the minimum level at which it sends them. */
import * as Schema from "effect/Schema"
import { metaFields, requestFields } from "./Meta.ts"
import { struct } from "./Shape.ts"

const levels = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"] as const

/** RFC 5424 log levels, least severe first. */
export const LoggingLevel = Schema.Literals(levels)
export type LoggingLevel = typeof LoggingLevel.Type

/** Returns a level's severity, from 0 (`debug`) to 7 (`emergency`). */
export const severity = (level: LoggingLevel): number => levels.indexOf(level)
/** True if `level` is at least as severe as `threshold`. */
export const isAtLeast = (level: LoggingLevel, threshold: LoggingLevel): boolean =>
  severity(level) >= severity(threshold)

/** Params of `logging/setLevel`. */
export const SetLevelParams = struct("SetLevelParams", { ...requestFields, level: LoggingLevel })
export type SetLevelParams = typeof SetLevelParams.Type

/** Params of a log message. `data` is any JSON value. */
export const LogMessageParams = struct("LogMessageParams", {
  ...metaFields,
  level: LoggingLevel,
  logger: Schema.optionalKey(Schema.String),
  data: Schema.Unknown
})
export type LogMessageParams = typeof LogMessageParams.Type
