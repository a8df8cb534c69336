/**
 * Log messages from server to client, and the level below which the server does not send them.
 */
import * as Schema from "effect/Schema"
import { metaFields, requestFields } from "./Meta.ts"
import { struct } from "./Shape.ts"

const levels = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"] as const

/** The levels of RFC 5424, least severe first. */
export const LoggingLevel = Schema.Literals(levels)
export type LoggingLevel = typeof LoggingLevel.Type

/** From 0 (`debug`) to 7 (`emergency`). */
export const severity = (level: LoggingLevel): number => levels.indexOf(level)
/** Whether a message of `level` is at least as severe as `threshold`. */
export const isAtLeast = (level: LoggingLevel, threshold: LoggingLevel): boolean =>
  severity(level) >= severity(threshold)

/** The params of `logging/setLevel`. */
export const SetLevelParams = struct("SetLevelParams", { ...requestFields, level: LoggingLevel })
export type SetLevelParams = typeof SetLevelParams.Type

/** `data` is any JSON value. */
export const LogMessageParams = struct("LogMessageParams", {
  ...metaFields,
  level: LoggingLevel,
  logger: Schema.optionalKey(Schema.String),
  data: Schema.Unknown
})
export type LogMessageParams = typeof LogMessageParams.Type
