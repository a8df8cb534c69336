/** What a message of a task leaves on in a session: a request that is open, or the stream of the session itself. */
import { ClientInput } from "@effect-mcp/core/ClientInput"
import { type Outbound, RequestContext } from "@effect-mcp/core/RequestContext"
import * as Effect from "effect/Effect"

export interface Outlet extends Pick<Outbound, "connection" | "isRead" | "notify" | "ready" | "left"> {
  readonly input: ClientInput["Service"]
}

/** That of the running request. */
export const ofRequest: Effect.Effect<Outlet, never, RequestContext | ClientInput> = Effect.map(
  Effect.all([RequestContext, ClientInput]),
  ([{ outbound }, input]) => ({ ...outbound, input })
)

/** That of the session of the running request, which outlives it; undefined where there is no session. */
export const ofSession: Effect.Effect<Outlet | undefined, never, RequestContext> = Effect.map(
  RequestContext,
  ({ outbound: { connection } }) => connection?.input && { ...connection, input: connection.input, connection }
)
