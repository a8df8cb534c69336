/** An extension with a part of every kind, for tests. */
import * as Extension from "@effect-mcp/core/Extension"
import type { Version } from "@effect-mcp/protocol/Revision"
import { Schema } from "effect"

export const id = "com.example/notes"

export const Notes = Extension.make(id, {
  clientSettings: { colours: Schema.Boolean },
  serverSettings: { limit: Schema.Int },
  requests: {
    find: Extension.request("com.example/notes/find", {
      params: { text: Schema.String },
      result: { ids: Schema.Array(Schema.Int) },
      failure: Schema.Struct({ tooShort: Schema.Int })
    })
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
    seen: Extension.notification("notifications/com.example/notes/seen", { from: "client", params: { id: Schema.Int } })
  },
  subscriptions: { added: Extension.subscription("com.example/notes", Schema.Array(Schema.Int)) }
})

/** The capabilities of a client that declares extensions, in the form of a revision. */
export const declaring = (version: Version, ids: ReadonlyArray<string> = [id], settings: object = {}) => ({
  [version === "2026-07-28" ? "extensions" : "experimental"]: Object.fromEntries(ids.map((id) => [id, settings]))
})
