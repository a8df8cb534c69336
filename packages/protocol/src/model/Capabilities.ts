/**
 * The capabilities that each side declares. `extensions` and `experimental` map the name of a feature to its settings.
 */
import * as Schema from "effect/Schema"
import { JsonObject, struct } from "./Shape.ts"

const feature = Schema.optionalKey(JsonObject)
const features = Schema.optionalKey(Schema.Record(Schema.String, JsonObject))
const flag = Schema.optionalKey(Schema.Boolean)

/** `elicitation: {}` means forms only. `tasks` is of 2025-11-25. */
export const ClientCapabilities = struct("ClientCapabilities", {
  experimental: features,
  roots: Schema.optionalKey(Schema.Struct({ listChanged: flag })),
  sampling: Schema.optionalKey(Schema.Struct({ context: feature, tools: feature })),
  elicitation: Schema.optionalKey(Schema.Struct({ form: feature, url: feature })),
  tasks: feature,
  extensions: features
})
export type ClientCapabilities = typeof ClientCapabilities.Type

/** `tasks` is of 2025-11-25. */
export const ServerCapabilities = struct("ServerCapabilities", {
  experimental: features,
  logging: feature,
  completions: feature,
  prompts: Schema.optionalKey(Schema.Struct({ listChanged: flag })),
  resources: Schema.optionalKey(Schema.Struct({ subscribe: flag, listChanged: flag })),
  tools: Schema.optionalKey(Schema.Struct({ listChanged: flag })),
  tasks: feature,
  extensions: features
})
export type ServerCapabilities = typeof ServerCapabilities.Type
