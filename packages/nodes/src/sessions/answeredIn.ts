/** Finds the requests that a stream's events respond to. */
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"

/** Returns the IDs of the responses in an event stream's text. Each event has one line of data. */
export const answeredIn = (events: string): ReadonlySet<JsonRpc.Id> => {
  const ids = new Set<JsonRpc.Id>()
  for (const [, data = ""] of events.matchAll(/^data: ?(\{.*)$/gm)) {
    const message: unknown = JSON.parse(data)
    if (!isJsonObject(message) || "method" in message) continue
    const { id } = message
    if (typeof id === "string" || typeof id === "number") ids.add(id)
  }
  return ids
}
