import { Extension } from "@effect-mcp/core"
import { Schema } from "effect"

export const Notes = Extension.make("com.example/notes", {
  requests: {
    find: Extension.request("com.example/notes/find", {
      params: { text: Schema.String },
      result: { ids: Schema.Array(Schema.Int) },
      readOnly: true
    })
  },
  questions: {
    pick: Extension.question("com.example/notes/pick", {
      params: { ids: Schema.Array(Schema.Int) },
      result: { id: Schema.Int }
    })
  },
  notifications: {
    added: Extension.notification("notifications/com.example/notes/added", {
      from: "server",
      params: { id: Schema.Int }
    })
  }
})
