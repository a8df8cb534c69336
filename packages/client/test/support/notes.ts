/** An extension with every kind of part, hand-written servers that declare it, and their clients, in each revision. */
import * as ClientExtension from "@effect-mcp/client/ClientExtension"
import type * as McpClient from "@effect-mcp/client/McpClient"
import * as Extension from "@effect-mcp/core/Extension"
import * as Revision from "@effect-mcp/protocol/Revision"
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import { Effect, Schema } from "effect"
import { connected } from "./connected.ts"
import * as Modern from "./modern.ts"
import * as Scripted from "./scripted.ts"

export const Notes = Extension.make("com.example/notes", {
  clientSettings: { colours: Schema.optionalKey(Schema.NonEmptyString) },
  serverSettings: { shelf: Schema.String },
  requests: {
    find: Extension.request("com.example/notes/find", {
      params: { text: Schema.String },
      result: { ids: Schema.Array(Schema.Int) },
      failure: Schema.Struct({ tooShort: Schema.Int }),
      nameParam: "text",
      readOnly: true
    }),
    write: Extension.request("com.example/notes/write", { params: { text: Schema.NonEmptyString }, longRunning: true })
  },
  questions: {
    pick: Extension.question("com.example/notes/pick", {
      params: { ids: Schema.Array(Schema.Int) },
      result: { id: Schema.Int },
      failure: Schema.Struct({ none: Schema.Boolean })
    })
  },
  notifications: {
    added: Extension.notification("notifications/com.example/notes/added", {
      from: "server",
      params: { id: Schema.Int }
    }),
    removed: Extension.notification("notifications/com.example/notes/removed", { from: "server" }),
    seen: Extension.notification("notifications/com.example/notes/seen", {
      from: "client",
      params: { id: Schema.Int }
    })
  },
  subscriptions: { added: Extension.subscription("com.example/notes", Schema.Array(Schema.Int)) }
})

export const find = Notes.requests.find.method
export const added = Notes.notifications.added.method

/** The capabilities of a server with the extension. */
export const declaring = (
  version: Revision.Version,
  extension: Extension.Any = Notes,
  settings: JsonObject = { shelf: "top" }
) => ({
  ...Scripted.everything,
  ...Extension.declarationOf(
    extension,
    Revision.all.find((revision) => revision.version === version)!,
    settings
  )
})

export interface Script extends Scripted.Script {
  readonly version: Revision.Version
}

/** A client with the extension's layer, and a server that declares the extension. */
export const noted = (script: Script, options?: McpClient.Options) =>
  connected(
    { ...script, capabilities: script.capabilities ?? declaring(script.version) },
    { revisions: [script.version], ...options }
  )

/** The same, with a client that declares the extension without using it. */
export const declared = (script: Script, options?: McpClient.Options) =>
  Effect.provide(noted(script, options), ClientExtension.layer(Notes))

/** The capabilities that the client declared to its server. */
export const capabilitiesOf = (server: Scripted.Scripted, version: Revision.Version): unknown =>
  version === Modern.version
    ? Modern.declared(server.requests("server/discover")[0], Meta.clientCapabilities)
    : server.requests("initialize")[0]?.params?.capabilities

/** A result that is valid in any revision. */
export const result = (value: object) => Modern.complete(value)
