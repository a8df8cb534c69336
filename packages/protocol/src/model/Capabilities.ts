/**
 * The capabilities that each side declares. `extensions` and `experimental` map the name of a feature to its settings.
 */
import * as Schema from "effect/Schema"
import { JsonObject, struct } from "./Shape.ts"

const feature = Schema.optionalKey(JsonObject)
const features = Schema.optionalKey(Schema.Record(Schema.String, JsonObject))
const flag = Schema.optionalKey(Schema.Boolean)

/**
 * What a side accepts as tasks (2025-11-25: basic/utilities/tasks): a server calls of tools, a client the other two. A kind of request that
 * is absent cannot be one.
 */
export const TaskCapabilities = struct("TaskCapabilities", {
  list: feature,
  cancel: feature,
  requests: Schema.optionalKey(
    Schema.Struct({
      tools: Schema.optionalKey(Schema.Struct({ call: feature })),
      sampling: Schema.optionalKey(Schema.Struct({ createMessage: feature })),
      elicitation: Schema.optionalKey(Schema.Struct({ create: feature }))
    })
  )
})
export type TaskCapabilities = typeof TaskCapabilities.Type

/** `elicitation: {}` means forms only. `tasks` is of 2025-11-25. */
export const ClientCapabilities = struct("ClientCapabilities", {
  experimental: features,
  roots: Schema.optionalKey(Schema.Struct({ listChanged: flag })),
  sampling: Schema.optionalKey(Schema.Struct({ context: feature, tools: feature })),
  elicitation: Schema.optionalKey(Schema.Struct({ form: feature, url: feature })),
  tasks: Schema.optionalKey(TaskCapabilities),
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
  tasks: Schema.optionalKey(TaskCapabilities),
  extensions: features
})
export type ServerCapabilities = typeof ServerCapabilities.Type
