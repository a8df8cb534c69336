/** Which requests the events of a stream answer. */
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"

/** The ids of the responses in a text of events, each of which has one line of data. */
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
