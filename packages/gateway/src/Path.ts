/**
 * Records the gateways between a client and a server, so that a gateway can detect that its upstream server leads back to itself.
 *
 * Each gateway adds its ID to `_meta` in the request that opens a connection. Later requests don't carry the path.
 */
import * as McpError from "@effect-mcp/protocol/McpError"
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"

/** IDs of the gateways between a client and this gateway, starting at the client. */
export type Path = ReadonlyArray<string>

/** Key in `_meta` that carries the path. */
const key = "effect-mcp/gateways"

/** Maximum length of a path. A loop of processes that start each other never passes the same gateway twice. */
const longest = 16

/** Returns the `_meta` for requests that open a connection to the upstream server. */
export const metaOf = (path: Path, own: string): JsonObject => ({ [key]: [...path, own] })

/** Returns the path in a request's `_meta`, or an empty path if there is none. Any other value is not from a gateway. */
export const of = (meta: JsonObject): Path => {
  const path = meta[key]
  return Array.isArray(path) ? path.slice(0, longest).filter((id) => typeof id === "string") : []
}

/** Returns the error for a connection that must not be opened, or `undefined` if it may be. */
export const refusal = (path: Path, own: string): McpError.McpError | undefined => {
  if (path.includes(own)) return McpError.loopDetected("This gateway's upstream server leads back to the gateway")
  return path.length < longest
    ? undefined
    : McpError.loopDetected(`There are more than ${longest} gateways between the client and the server`)
}
