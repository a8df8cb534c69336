/** What a message of a task leaves on in a session: a request that is open, or the stream of the session itself. */
import type { ClientInput } from "@effect-mcp/core/ClientInput"
import type { Outbound, RequestContext } from "@effect-mcp/core/RequestContext"

export interface Outlet extends Pick<Outbound, "connection" | "isRead" | "notify" | "ready" | "left"> {
  readonly input: ClientInput["Service"]
}

/** That of a request. */
export const ofRequest = ({ outbound }: RequestContext["Service"], input: ClientInput["Service"]): Outlet => ({
  ...outbound,
  input
})

/** That of the session of a request, which outlives it; undefined where there is no session. */
export const ofSession = ({ outbound: { connection } }: RequestContext["Service"]): Outlet | undefined =>
  connection?.input && { ...connection, input: connection.input, connection }
