/** Why requests of a session are refused, whatever they ask: the shutdown, the limit of the session, and ids that are in use. */
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import { type ErrorResponse, refuse, shuttingDown, tooMany } from "../response/Responses.ts"

/** What of a session is looked at. */
interface Running {
  readonly running: number
  readonly isRunning: (id: JsonRpc.Id) => boolean
}

interface Limits {
  readonly draining: boolean
  /** Requests of one session at once. */
  readonly inFlight: number
}

/** Requests of one batch are refused together, by an error without an id. */
export const conflictOf = (
  session: Running,
  requests: ReadonlyArray<JsonRpc.Request>,
  { draining, inFlight }: Limits
): ErrorResponse | undefined => {
  const [first] = requests
  if (first === undefined) return undefined
  const id = requests.length === 1 ? first.id : undefined
  if (draining) return shuttingDown(id)
  if (session.running + requests.length > inFlight) return tooMany("requests of a session are in flight", inFlight, id)
  const twice = requests.find(
    (one, at) => session.isRunning(one.id) || requests.findIndex((other) => other.id === one.id) < at
  )
  if (twice === undefined) return undefined
  return refuse(400, McpError.invalidRequest(`Request id ${JSON.stringify(twice.id)} is in flight already`), id)
}
