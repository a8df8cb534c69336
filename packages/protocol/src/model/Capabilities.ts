/** The capabilities each side declares. `extensions` and `experimental` map a feature's name to its settings. */
import * as Schema from "effect/Schema"
import { type ListKind, listKinds } from "./Lists.ts"
import { JsonObject, struct } from "./Shape.ts"

const feature = Schema.optionalKey(JsonObject)
const features = Schema.optionalKey(Schema.Record(Schema.String, JsonObject))
const flag = Schema.optionalKey(Schema.Boolean)

/**
 * Requests that a peer can run as tasks (2025-11-25: basic/utilities/tasks): tool calls on a server, sampling and elicitation on a client.
 * A request that isn't listed cannot be a task.
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

/** Capabilities a client declares. `elicitation: {}` means forms only. `tasks` only exists in 2025-11-25. */
export const ClientCapabilities = struct("ClientCapabilities", {
  experimental: features,
  roots: Schema.optionalKey(Schema.Struct({ listChanged: flag })),
  sampling: Schema.optionalKey(Schema.Struct({ context: feature, tools: feature })),
  elicitation: Schema.optionalKey(Schema.Struct({ form: feature, url: feature })),
  tasks: Schema.optionalKey(TaskCapabilities),
  extensions: features
})
export type ClientCapabilities = typeof ClientCapabilities.Type

const listing = Schema.Struct({ listChanged: flag })
const listed = Schema.optionalKey(listing)
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- one for each kind
const listings = Object.fromEntries(listKinds.map((kind) => [kind, listed])) as {
  readonly [K in ListKind]: typeof listed
}

/** Capabilities a server declares. `tasks` only exists in 2025-11-25. */
export const ServerCapabilities = struct("ServerCapabilities", {
  experimental: features,
  logging: feature,
  completions: feature,
  ...listings,
  resources: Schema.optionalKey(Schema.Struct({ subscribe: flag, ...listing.fields })),
  tasks: Schema.optionalKey(TaskCapabilities),
  extensions: features
})
export type ServerCapabilities = typeof ServerCapabilities.Type

/** A capability named `K` and its parts, such as `resources` and `resources.subscribe`. Settings without known parts have no parts. */
type Named<C, K extends keyof C & string> =
  | K
  | (keyof NonNullable<C[K]> extends infer Part
      ? Part extends string
        ? string extends Part
          ? never
          : `${K}.${Part}`
        : never
      : never)

/** Capabilities that no row in `MethodInfo` needs, because they concern extensions and tasks. */
type Other = "experimental" | "extensions" | "tasks"

/** Dotted name of a server capability, such as `resources.subscribe`. */
export type ServerCapability = {
  [K in keyof Omit<ServerCapabilities, Other>]-?: Named<ServerCapabilities, K>
}[keyof Omit<ServerCapabilities, Other>]

/** Dotted name of a client capability, such as `sampling.tools`. */
export type ClientCapability = {
  [K in keyof Omit<ClientCapabilities, Other>]-?: Named<ClientCapabilities, K>
}[keyof Omit<ClientCapabilities, Other>]
