/** Params for the messages that a view sends. Unknown fields are dropped; everything else is checked before a host acts on it. */
import { ContentBlock } from "@effect-mcp/protocol/model/Content"
import { JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Schema from "effect/Schema"

const DisplayMode = Schema.Literals(["inline", "fullscreen", "pip"])

export const Initialize = Schema.Struct({
  protocolVersion: Schema.String,
  appInfo: Schema.Struct({ name: Schema.String, version: Schema.String }),
  appCapabilities: Schema.Struct({ availableDisplayModes: Schema.optionalKey(Schema.Array(DisplayMode)) })
})

export const CallTool = Schema.Struct({ name: Schema.String, arguments: Schema.optionalKey(JsonObject) })

export const ReadResource = Schema.Struct({ uri: Schema.String })

export const OpenLink = Schema.Struct({ url: Schema.String })

/** Accepts a single block, as in the specification's text, and a list, as in its types. */
export const UserMessage = Schema.Struct({
  role: Schema.Literal("user"),
  content: Schema.Union([Schema.Array(ContentBlock), ContentBlock])
})

export const ModelContext = Schema.Struct({
  content: Schema.optionalKey(Schema.Array(ContentBlock)),
  structuredContent: Schema.optionalKey(JsonObject)
})
/** Context from a view for the model. It replaces the view's previous context. */
export type ModelContext = typeof ModelContext.Type

export const RequestDisplayMode = Schema.Struct({ mode: DisplayMode })

export const DownloadFile = Schema.Struct({ contents: Schema.Array(ContentBlock) })

const Pixels = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 100_000 }))

export const Size = Schema.Struct({ width: Schema.optionalKey(Pixels), height: Schema.optionalKey(Pixels) })
/** Size of a view's content, in pixels. */
export type Size = typeof Size.Type

export const LogMessage = Schema.Struct({
  level: Schema.Literals(["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]),
  logger: Schema.optionalKey(Schema.String),
  data: Schema.Unknown
})
/** A log message of a view. */
export type LogMessage = typeof LogMessage.Type

export const Cancelled = Schema.Struct({ requestId: Schema.Union([Schema.String, Schema.Finite]) })
