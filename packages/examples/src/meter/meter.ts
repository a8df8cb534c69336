import { Extension } from "@effect-mcp/core"
import { Schema } from "effect"

export const Meter = Extension.make("com.acme/meter", {
  clientSettings: { budget: Schema.Int },
  requests: {
    spent: Extension.request("com.acme/meter/spent", {
      result: { total: Schema.Int }
    })
  },
  notifications: {
    charged: Extension.notification("notifications/com.acme/meter/charged", {
      from: "server",
      params: { tool: Schema.String, total: Schema.Int }
    })
  }
})
