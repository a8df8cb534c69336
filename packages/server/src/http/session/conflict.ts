/** What speaks against requests of a session, beside those of it that run already. */
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import type { HttpSession } from "./HttpSession.ts"
import { refuse, type Refusal, shuttingDown, tooMany } from "../response/Responses.ts"
import type { Work } from "../request/InFlightRequests.ts"

/** `inFlight`: how many may run at once. Requests that came together are refused together, and then it is said of none by name. */
export const objection = (
  session: HttpSession,
  requests: ReadonlyArray<JsonRpc.Request>,
  work: Work,
  inFlight: number
): Refusal | undefined => {
  const [first] = requests
  if (first === undefined) return undefined
  const id = requests.length === 1 ? first.id : undefined
  if (work.draining) return shuttingDown(id)
  if (session.running + requests.length > inFlight) return tooMany("requests of a session are in flight", inFlight, id)
  const twice = requests.find(
    (one, at) => session.isRunning(one.id) || requests.findIndex((other) => other.id === one.id) < at
  )
  if (twice === undefined) return undefined
  return refuse(400, McpError.invalidRequest(`Request id ${JSON.stringify(twice.id)} is in flight already`), id)
}
