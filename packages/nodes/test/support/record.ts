/** The record of a session in a directory. */
import type { SessionRecord } from "@effect-mcp/server/Nodes"

export const record: SessionRecord = {
  server: "test",
  owner: "",
  version: "2025-11-25",
  clientInfo: { name: "client", version: "1" },
  clientCapabilities: {},
  logLevel: undefined,
  subscriptions: []
}
