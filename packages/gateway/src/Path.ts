/**
 * The gateways that a conversation passes, so that a gateway notices when its upstream server leads back to it.
 *
 * Each gateway adds its id to the `_meta` of the request that opens a conversation. Later requests carry nothing.
 */
import * as McpError from "@effect-mcp/protocol/McpError"
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"

/** Ids of the gateways between a client and this one, the first gateway first. */
export type Path = ReadonlyArray<string>

/** The key of `_meta` that carries the path. */
const key = "effect-mcp/gateways"

/** Length of the longest path. A loop through processes that start each other meets no gateway twice. */
const longest = 16

/** `_meta` of the requests that open a conversation with the upstream server. */
export const metaOf = (path: Path, own: string): JsonObject => ({ [key]: [...path, own] })

/** The path in the `_meta` of a request; empty if there is none. Any other value is not from a gateway. */
export const of = (meta: JsonObject): Path => {
  const path = meta[key]
  return Array.isArray(path) ? path.slice(0, longest).filter((id) => typeof id === "string") : []
}

/** The error for a conversation that must not be opened, or `undefined` if it may be. */
export const refusal = (path: Path, own: string): McpError.McpError | undefined => {
  if (path.includes(own)) return McpError.loopDetected("The upstream server of this gateway leads back to it")
  return path.length < longest
    ? undefined
    : McpError.loopDetected(`More than ${longest} gateways lie between the client and the server`)
}
